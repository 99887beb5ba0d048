// AMX needs more than the processor: the state of the tiles (8 KiB a thread) is saved only for a
// process that asked for it.
#pragma once

namespace deltaserve {

// Whether the processor has bfloat16 and int8 tiles and Linux lets this process use them. Asks
// once; threads that start later may use them too.
bool amx_granted();

}  // namespace deltaserve
