// Where the device's time goes: a library that the CUDA driver loads into any program
// (CUDA_INJECTION64_PATH=libkernel_trace.so) and that prints, when the program ends, every kernel
// by name and grid with its number of launches, its times, and how long the device stood idle
// before it. KERNEL_TRACE_CSV=FILE writes the launches one by one as well.
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr size_t kNameLength = 72;  // of the printed table
// A longer pause is the host's: loading, or between two tests.
constexpr uint64_t kLongestIdle = 2'000'000;  // nanoseconds

struct Launch {
  const char* name;  // lives as long as the module
  int32_t grid[3];
  uint32_t shared_kib;  // of a multiprocessor's memory, set aside as shared memory
  uint64_t start;       // nanoseconds
  uint64_t end;
};

struct Trace {
  std::mutex mutex;
  std::vector<Launch> launches;
};

Trace& trace() {
  static auto* const instance = new Trace;  // outlives everything that may still report to it
  return *instance;
}

void give_buffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = kBufferBytes;
  *max_records = 0;
}

void take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  const std::scoped_lock lock(trace().mutex);
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      trace().launches.push_back({.name = kernel.name,
                                  .grid = {kernel.gridX, kernel.gridY, kernel.gridZ},
                                  .shared_kib = kernel.sharedMemoryExecuted >> 10U,
                                  .start = kernel.start,
                                  .end = kernel.end});
    }
  }
  std::free(buffer);
}

// Without namespaces, parameters and return type.
std::string short_name(const char* mangled) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : mangled;
  std::free(demangled);
  for (const char* part :
       {"deltaserve::cuda::", "deltaserve::", "(anonymous namespace)::", "void "}) {
    for (size_t at = name.find(part); at != std::string::npos; at = name.find(part)) {
      name.erase(at, std::string(part).size());
    }
  }
  if (const size_t parameters = name.find(">("); parameters != std::string::npos) {
    name.erase(parameters + 1);
  }
  return name.substr(0, kNameLength);
}

struct Row {
  std::vector<double> microseconds;
  double total = 0.0;
  double idle = 0.0;  // of the device before these launches
};

void print_table(const std::vector<Launch>& launches) {
  std::map<std::string, Row> rows;
  std::map<const char*, std::string> names;
  uint64_t busy_until = 0;
  double total = 0.0;
  double idle_total = 0.0;
  for (const Launch& launch : launches) {
    std::string& name = names[launch.name];
    if (name.empty()) {
      name = short_name(launch.name);
    }
    Row& row =
        rows[name + " " + std::to_string(launch.grid[0]) + "x" + std::to_string(launch.grid[1]) +
             "x" + std::to_string(launch.grid[2]) + " " + std::to_string(launch.shared_kib)];
    const double time = static_cast<double>(launch.end - launch.start) * 1e-3;
    row.microseconds.push_back(time);
    row.total += time;
    total += time;
    if (launch.start > busy_until && launch.start - busy_until < kLongestIdle) {
      const double idle = static_cast<double>(launch.start - busy_until) * 1e-3;
      row.idle += idle;
      idle_total += idle;
    }
    busy_until = std::max(busy_until, launch.end);
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::ranges::sort(sorted,
                    [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  std::printf("%zu launches, %.1f ms in kernels, %.1f ms idle between them\n", launches.size(),
              total * 1e-3, idle_total * 1e-3);
  std::printf("%8s %10s %9s %9s %9s  %s\n", "launches", "total ms", "median us", "best us",
              "idle us", "kernel, grid, KiB of shared memory set aside");
  for (auto& [name, row] : sorted) {
    std::ranges::sort(row.microseconds);
    const auto count = static_cast<double>(row.microseconds.size());
    std::printf("%8zu %10.3f %9.2f %9.2f %9.2f  %s\n", row.microseconds.size(), row.total * 1e-3,
                row.microseconds[row.microseconds.size() / 2], row.microseconds.front(),
                row.idle / count, name.c_str());
  }
}

void write_csv(const std::vector<Launch>& launches, const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::fprintf(stderr, "kernel_trace: %s cannot be written\n", path);
    return;
  }
  for (const Launch& launch : launches) {
    std::fprintf(file, "%.3f,%.3f,%d,%d,%s\n",
                 static_cast<double>(launch.start - launches.front().start) * 1e-3,
                 static_cast<double>(launch.end - launch.start) * 1e-3, launch.grid[0],
                 launch.grid[1], short_name(launch.name).c_str());
  }
  std::fclose(file);
}

void finish() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::scoped_lock lock(trace().mutex);
  std::vector<Launch>& launches = trace().launches;
  std::ranges::sort(launches, {}, &Launch::start);
  print_table(launches);
  if (const char* path = std::getenv("KERNEL_TRACE_CSV"); path != nullptr && !launches.empty()) {
    write_csv(launches, path);
  }
}

}  // namespace

// The driver calls it when the program first uses CUDA.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  trace();
  const bool started = cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
                       cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
  if (!started) {
    std::fprintf(stderr, "kernel_trace: CUPTI does not start\n");
    return 0;
  }
  std::atexit(finish);
  return 1;
}
