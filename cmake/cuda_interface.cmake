# DELTASERVE_CUDA_INTERFACE: a digest of the headers through which the program calls its CUDA
# library. One that was built with others has other layouts, so the program refuses it.
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/base/*.h ${CMAKE_SOURCE_DIR}/src/tensor/*.h
  ${CMAKE_SOURCE_DIR}/src/ops/*.h)
list(APPEND headers ${CMAKE_SOURCE_DIR}/src/backends/cuda/cuda_backend.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
set(digests "")
foreach(header ${headers})
  file(SHA256 ${header} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 DELTASERVE_CUDA_INTERFACE)
