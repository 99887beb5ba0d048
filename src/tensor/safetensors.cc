// The safetensors container: 8 bytes of header length (little endian), a JSON object
// name -> {dtype, shape, data_offsets}, then the data. The header is untrusted: every number is
// range-checked before it is multiplied or added, and the tensors must tile the data exactly.
#include "tensor/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "json/json.h"

namespace deltaserve {

namespace {

static_assert(std::endian::native == std::endian::little, "tensor data is little endian");

using TensorMap = std::map<std::string, TensorView, std::less<>>;

// The format's own limit on the header.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8;
// Deepest real tensor is the patch embedding's 5; a longer shape is a broken header.
constexpr size_t kMaxRank = 16;

constexpr std::array<std::pair<std::string_view, DType>, 11> kTypes = {{
    {"F32", DType::kF32},
    {"BF16", DType::kBF16},
    {"F16", DType::kF16},
    {"F64", DType::kF64},
    {"F8_E4M3", DType::kF8E4M3},
    {"I8", DType::kI8},
    {"U8", DType::kU8},
    {"I16", DType::kI16},
    {"I32", DType::kI32},
    {"I64", DType::kI64},
    {"BOOL", DType::kBool},
}};

std::optional<int64_t> non_negative(const json::Value& value) {
  if (const int64_t* number = value.if_int64(); number != nullptr && *number >= 0) {
    return *number;
  }
  return std::nullopt;
}

std::unexpected<Error> bad_tensor(std::string_view name, std::string_view what) {
  return invalid(fmt::format("tensor \"{}\": {}", name, what), std::string(name));
}

Result<DType> read_dtype(std::string_view name, const json::Object& entry) {
  const json::Value* field = entry.if_contains("dtype");
  if (field == nullptr || !field->is_string()) {
    return bad_tensor(name, "no dtype in the header");
  }
  const std::string_view text = field->get_string();
  for (const auto& [label, dtype] : kTypes) {
    if (label == text) {
      return dtype;
    }
  }
  return bad_tensor(name, fmt::format("dtype {} is not supported", text.substr(0, 32)));
}

// The shape, and that its bytes are exactly end - begin.
Result<std::vector<int64_t>> read_shape(std::string_view name, const json::Object& entry,
                                        DType dtype, int64_t num_bytes) {
  const json::Value* field = entry.if_contains("shape");
  if (field == nullptr || !field->is_array() || field->get_array().size() > kMaxRank) {
    return bad_tensor(name, "no valid shape in the header");
  }
  std::vector<int64_t> shape;
  bool has_zero = false;
  for (const json::Value& dimension : field->get_array()) {
    const std::optional<int64_t> size = non_negative(dimension);
    if (!size) {
      return bad_tensor(name, "a dimension of its shape is not a non-negative integer");
    }
    has_zero = has_zero || *size == 0;
    shape.push_back(*size);
  }
  int64_t bytes = has_zero ? 0 : dtype_size(dtype);
  for (const int64_t size : shape) {
    if (!has_zero && bytes > num_bytes / size) {
      return bad_tensor(name, "its shape needs more bytes than its data_offsets span");
    }
    bytes = has_zero ? 0 : bytes * size;
  }
  if (bytes != num_bytes) {
    return bad_tensor(name, fmt::format("its shape needs {} bytes but its data_offsets span {}",
                                        bytes, num_bytes));
  }
  // A zero may stand beside huge dimensions; their product must not overflow either.
  int64_t product = 1;
  for (const int64_t size : shape) {
    if (size != 0 && __builtin_mul_overflow(product, size, &product)) {
      return bad_tensor(name, "its shape overflows 64 bits");
    }
  }
  return shape;
}

struct Placed {
  int64_t begin = 0;
  int64_t end = 0;
  std::string_view name;
};

// Reads one header entry into `tensors`; its place in the data goes to `placed`.
Result<void> read_tensor(std::string_view name, const json::Value& value,
                         std::span<const std::byte> data, size_t data_start, TensorMap& tensors,
                         std::vector<Placed>& placed) {
  if (!value.is_object()) {
    return bad_tensor(name, "its header entry is not an object");
  }
  const json::Object& entry = value.get_object();
  const Result<DType> dtype = read_dtype(name, entry);
  if (!dtype) {
    return std::unexpected(dtype.error());
  }
  const json::Value* offsets = entry.if_contains("data_offsets");
  if (offsets == nullptr || !offsets->is_array() || offsets->get_array().size() != 2) {
    return bad_tensor(name, "no data_offsets pair in the header");
  }
  const std::optional<int64_t> begin = non_negative(offsets->get_array()[0]);
  const std::optional<int64_t> end = non_negative(offsets->get_array()[1]);
  if (!begin || !end || *begin > *end) {
    return bad_tensor(name, "its data_offsets are not an ascending pair");
  }
  if (static_cast<uint64_t>(*end) > data.size()) {
    return bad_tensor(name, fmt::format("its data ends at byte {} of {}: the file is truncated",
                                        *end, data.size()));
  }
  Result<std::vector<int64_t>> shape = read_shape(name, entry, *dtype, *end - *begin);
  if (!shape) {
    return std::unexpected(std::move(shape.error()));
  }
  if ((data_start + static_cast<size_t>(*begin)) % static_cast<size_t>(dtype_size(*dtype)) != 0) {
    return bad_tensor(name,
                      "its data is not aligned to its element size; save the file again "
                      "with a current safetensors library");
  }
  tensors.emplace(
      std::string(name),
      TensorView{.dtype = *dtype, .shape = std::move(*shape), .data = data.data() + *begin});
  placed.push_back({*begin, *end, name});
  return {};
}

// Every byte of the data must belong to exactly one tensor.
Result<void> check_tiling(std::vector<Placed>& placed, int64_t data_size) {
  std::ranges::sort(placed, [](const Placed& a, const Placed& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  int64_t cursor = 0;
  for (const Placed& tensor : placed) {
    if (tensor.begin < cursor) {
      return bad_tensor(tensor.name, "its data overlaps another tensor's");
    }
    if (tensor.begin > cursor) {
      return bad_tensor(
          tensor.name,
          fmt::format("bytes {} to {} before its data belong to no tensor", cursor, tensor.begin));
    }
    cursor = tensor.end;
  }
  if (cursor != data_size) {
    return invalid(
        fmt::format("{} bytes after the last tensor belong to none", data_size - cursor));
  }
  return {};
}

bool is_lfs_pointer(std::span<const std::byte> bytes) {
  constexpr std::string_view kMark = "version https://git-lfs";
  return bytes.size() >= kMark.size() && std::memcmp(bytes.data(), kMark.data(), kMark.size()) == 0;
}

std::unexpected<Error> file_error(const std::filesystem::path& path, std::string_view what) {
  return invalid(fmt::format("{}: {}", path.string(), what), path.filename().string());
}

}  // namespace

Result<TensorMap> parse_safetensors(std::span<const std::byte> bytes) {
  if (is_lfs_pointer(bytes)) {
    return invalid("this is a Git LFS pointer, not the weights; run `git lfs pull`");
  }
  if (bytes.size() < kLengthBytes) {
    return invalid(fmt::format("{} bytes are too few for a safetensors file", bytes.size()));
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    return invalid(fmt::format("not a safetensors file: a header of {} bytes (limit {})", length,
                               kMaxHeaderBytes));
  }
  if (length > bytes.size() - kLengthBytes) {
    return invalid(
        fmt::format("truncated: a header of {} bytes in a file of {}", length, bytes.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  const Result<json::Value> header =
      json::parse(text, {.max_depth = 16, .max_bytes = kMaxHeaderBytes});
  if (!header || !header->is_object()) {
    return invalid(fmt::format("the header is not a JSON object{}",
                               header ? "" : ": " + header.error().message));
  }
  const size_t data_start = kLengthBytes + length;
  const std::span<const std::byte> data = bytes.subspan(data_start);
  TensorMap tensors;
  std::vector<Placed> placed;
  for (const auto& [key, value] : header->get_object()) {
    if (key == "__metadata__") {
      continue;
    }
    if (Result<void> read = read_tensor(key, value, data, data_start, tensors, placed); !read) {
      return std::unexpected(std::move(read.error()));
    }
  }
  Result<void> tiled = check_tiling(placed, static_cast<int64_t>(data.size()));
  if (!tiled) {
    return std::unexpected(std::move(tiled.error()));
  }
  return tensors;
}

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return file_error(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    ::close(fd);
    return file_error(path, "not a file, or empty");
  }
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);
  file->size_ = static_cast<size_t>(status.st_size);
  void* mapping = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
  const int map_error = errno;
  ::close(fd);
  if (mapping == MAP_FAILED) {
    return file_error(path, fmt::format("cannot be mapped: {}", std::strerror(map_error)));
  }
  file->mapping_ = mapping;
  Result<TensorMap> tensors =
      parse_safetensors({static_cast<const std::byte*>(mapping), file->size_});
  if (!tensors) {
    Error error = std::move(tensors.error());
    error.message = fmt::format("{}: {}", path.string(), error.message);
    return std::unexpected(std::move(error));
  }
  file->tensors_ = std::move(*tensors);
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, size_);
  }
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

void drop_mapped_pages(const TensorView& view) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(view.data);
  const uintptr_t first = (address + page - 1) / page * page;
  const uintptr_t last = (address + static_cast<uintptr_t>(view.num_bytes())) / page * page;
  if (first < last) {
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

}  // namespace deltaserve
