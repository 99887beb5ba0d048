# cmake -DNM=nm -DARCHIVE=libds_backend_cpu.a -P check_isa_symbols.cmake
#
# The objects of src/backends/cpu/isa are compiled for instruction sets that not every machine has.
# A weak symbol in one (an inline function of a header) could be the copy the linker keeps for the
# whole program. So each may define one symbol for others to see, its kernel table, and no weak one.
execute_process(COMMAND ${NM} --print-file-name --demangle ${ARCHIVE}
  OUTPUT_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} failed on ${ARCHIVE}")
endif()
string(REPLACE ";" "," output "${output}")
string(REPLACE "\n" ";" lines "${output}")
set(tables 0)
set(leaks "")
foreach(line IN LISTS lines)
  # archive:member:address type name; the type is one letter.
  if(NOT line MATCHES ":(portable|avx2|avx512|avx512_bf16|amx)\\.cc\\.o: *[0-9a-f]* ([A-Za-z]) (.*)$")
    continue()
  endif()
  set(type ${CMAKE_MATCH_2})
  set(name "${CMAKE_MATCH_3}")
  if(name MATCHES "^deltaserve::k[A-Za-z0-9]+Kernels$" AND type MATCHES "[DR]")
    math(EXPR tables "${tables} + 1")
  elseif(NOT type MATCHES "[a-zU]" OR type MATCHES "[vwu]")
    # Local symbols are lower case and what others define is U; sanitizers add their own.
    if(NOT name MATCHES "^(DW\\.ref\\.|__asan|__ubsan|__odr_asan|__tsan|asan\\.)")
      string(APPEND leaks "  ${line}\n")
    endif()
  endif()
endforeach()
if(tables LESS 1)
  message(FATAL_ERROR "no kernel table found in ${ARCHIVE}")
endif()
if(leaks)
  message(FATAL_ERROR "symbols leave the instruction-set objects:\n${leaks}")
endif()
message(STATUS "${tables} kernel tables, nothing else visible")
