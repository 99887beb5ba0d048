// The command line: subcommands, their options, help texts and examples.
#pragma once

namespace deltaserve {

// Parses and runs. Exit codes: 0 done, 1 the command failed, 2 the command line is wrong.
int run_command_line(int argc, char** argv);

}  // namespace deltaserve
