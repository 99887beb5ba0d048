# Build rules shared by every folder: warnings, sanitizers, one static library a folder of src/,
# and one test program a folder of tests/.

add_library(deltaserve_options INTERFACE)
# Sources that are compiled as one may warn of one another's names, and with sanitizers of what g++
# does not follow then.
set(error -Werror)
if(DELTASERVE_UNITY AND DELTASERVE_SANITIZE)
  set(error -Wno-error)
elseif(DELTASERVE_UNITY)
  list(APPEND error -Wno-error=shadow)
endif()
# nvcc takes options of its own, see src/backends/cuda.
target_compile_options(deltaserve_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;${error};-fno-omit-frame-pointer>")
target_include_directories(deltaserve_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 enables std::expected only for compilers that announce C++20 concepts in full;
  # clang has what it needs but announces an older value.
  target_compile_options(deltaserve_options INTERFACE
    -Wno-builtin-macro-redefined -Wno-macro-redefined -D__cpp_concepts=202002L
    -Wno-sign-conversion)
endif()
if(DELTASERVE_FUZZ)
  target_compile_options(deltaserve_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(DELTASERVE_SANITIZE)
  target_compile_options(deltaserve_options INTERFACE -fsanitize=${DELTASERVE_SANITIZE}
    -fno-sanitize-recover=all)
  target_link_options(deltaserve_options INTERFACE -fsanitize=${DELTASERVE_SANITIZE})
endif()

# ds_unity(TARGET): with DELTASERVE_UNITY, sources of the target are compiled several at a time.
function(ds_unity target)
  if(NOT DELTASERVE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/unity_groups.py ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" pairs "${lines}")
  while(pairs)
    list(POP_FRONT pairs group source)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP group_${group})
  endwhile()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# ds_not_sanitized(TARGET): a program for tests of the labels e2e and oracle, which are run without
# sanitizers only: with them it is built by its name.
function(ds_not_sanitized target)
  if(DELTASERVE_SANITIZE)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# ds_optimized(TARGET, LEVEL): with sanitizers code is compiled for the time of its compilation
# (-Og), except what the tests spend their time in.
function(ds_optimized target level)
  if(DELTASERVE_SANITIZE)
    target_compile_options(${target} PRIVATE ${level})
  endif()
endfunction()

# ds_library(NAME DEPS...): src/<this folder>/*.cc as the static library ds_NAME.
function(ds_library name)
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(NOT sources)
    return()
  endif()
  add_library(ds_${name} STATIC ${sources})
  target_link_libraries(ds_${name} PUBLIC deltaserve_options ${ARGN})
  ds_unity(ds_${name})
endfunction()

# ds_add_tests(NAME LABEL PREFIX FILTER): the cases of test_NAME that match FILTER as tests
# PREFIXSuite.Case. Under AddressSanitizer a process takes longer to begin and end than most cases
# run: there a fifth of the cases is one test, PREFIXNAME.0 to PREFIXNAME.4. Cases come in fours
# of a kind (checkpoints, instruction sets), which four tests would not mix.
function(ds_add_tests name label prefix filter)
  if(NOT DELTASERVE_SANITIZE MATCHES "address")
    gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
      TEST_PREFIX "${prefix}" TEST_FILTER "${filter}" PROPERTIES LABELS ${label} TIMEOUT 900)
    return()
  endif()
  # What takes minutes begins first (COST), beside which the others run.
  set(cost 0)
  if(name MATCHES "^(goldens|ops|engine)")
    set(cost 1000)
  endif()
  foreach(shard RANGE 4)
    set(test ${prefix}${name}.${shard})
    add_test(NAME ${test} COMMAND test_${name} --gtest_brief=1 "--gtest_filter=${filter}")
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1800 COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=5;GTEST_SHARD_INDEX=${shard}"
      FAIL_REGULAR_EXPRESSION " 0 tests from 0 ")
  endforeach()
endfunction()

# ds_test(NAME LABEL DEPS...): *.cc of this folder as one GoogleTest program test_NAME.
function(ds_test name label)
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_link_libraries(test_${name} PRIVATE ${ARGN} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE
    DELTASERVE_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data"
    DELTASERVE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  ds_unity(test_${name})
  ds_add_tests(${name} ${label} "" "*")
endfunction()
