// Header first, then positional writes: pwrite needs no lock and no order between tensors.
#include "tensor/safetensors_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "base/check.h"
#include "json/json.h"

namespace deltaserve {

namespace {

std::string_view dtype_label(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kBF16:
      return "BF16";
    case DType::kF16:
      return "F16";
    case DType::kF64:
      return "F64";
    case DType::kF8E4M3:
      return "F8_E4M3";
    case DType::kI8:
      return "I8";
    case DType::kU8:
      return "U8";
    case DType::kI16:
      return "I16";
    case DType::kI32:
      return "I32";
    case DType::kI64:
      return "I64";
    case DType::kBool:
      return "BOOL";
  }
  return "";
}

void append_entry(const TensorSpec& spec, int64_t begin, int64_t end, std::string& header) {
  json::append_quoted(spec.name, header);
  header += R"(:{"dtype":")";
  header += dtype_label(spec.dtype);
  header += R"(","shape":[)";
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    header += i == 0 ? "" : ",";
    header += std::to_string(spec.shape[i]);
  }
  header += R"(],"data_offsets":[)";
  header += std::to_string(begin);
  header += ',';
  header += std::to_string(end);
  header += "]}";
}

std::unexpected<Error> write_error(const std::filesystem::path& path, int error) {
  return fail(ErrorCode::kInternal,
              fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
}

Result<void> write_at(int fd, int64_t offset, std::span<const std::byte> bytes,
                      const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return write_error(path, written == 0 ? ENOSPC : errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<SafetensorsWriter>> SafetensorsWriter::create(
    const std::filesystem::path& path, const std::vector<TensorSpec>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return dtype_size(tensors[a].dtype) > dtype_size(tensors[b].dtype);
  });

  std::unique_ptr<SafetensorsWriter> writer(new SafetensorsWriter);
  writer->begin_.resize(tensors.size());
  writer->size_.resize(tensors.size());
  std::string header = "{";
  int64_t offset = 0;
  for (const size_t index : order) {
    const TensorSpec& spec = tensors[index];
    const int64_t size =
        TensorView{.dtype = spec.dtype, .shape = spec.shape, .data = nullptr}.num_bytes();
    header += header.size() == 1 ? "" : ",";
    append_entry(spec, offset, offset + size, header);
    writer->begin_[index] = offset;
    writer->size_[index] = size;
    offset += size;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t length = header.size();
  for (int64_t& begin : writer->begin_) {
    begin += static_cast<int64_t>(sizeof(length) + length);
  }

  writer->path_ = path;
  writer->partial_ = path.string() + ".partial";
  writer->fd_ = ::open(writer->partial_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (writer->fd_ < 0) {
    return write_error(writer->partial_, errno);
  }
  std::string prefix(sizeof(length), '\0');
  std::memcpy(prefix.data(), &length, sizeof(length));
  prefix += header;
  Result<void> wrote = write_at(writer->fd_, 0, std::as_bytes(std::span(prefix)), writer->partial_);
  if (!wrote) {
    return std::unexpected(std::move(wrote.error()));
  }
  // The full length now, so that a tensor without bytes to write still has its place.
  if (::ftruncate(writer->fd_, static_cast<off_t>(prefix.size()) + offset) != 0) {
    return write_error(writer->partial_, errno);
  }
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(partial_.c_str());
  }
}

Result<void> SafetensorsWriter::write(size_t index, int64_t offset,
                                      std::span<const std::byte> bytes) {
  DS_CHECK(fd_ >= 0 && index < begin_.size() && offset >= 0 &&
           offset + static_cast<int64_t>(bytes.size()) <= size_[index]);
  return write_at(fd_, begin_[index] + offset, bytes, partial_);
}

Result<void> SafetensorsWriter::finish() {
  DS_CHECK(fd_ >= 0);
  const int closed = ::close(fd_);
  const int close_error = errno;
  fd_ = -1;
  if (closed != 0) {
    ::unlink(partial_.c_str());
    return write_error(partial_, close_error);
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int rename_error = errno;
    ::unlink(partial_.c_str());
    return write_error(path_, rename_error);
  }
  return {};
}

Result<void> write_safetensors(const std::filesystem::path& path,
                               const std::vector<std::pair<std::string, TensorView>>& tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const auto& [name, view] : tensors) {
    specs.push_back({.name = name, .dtype = view.dtype, .shape = view.shape});
  }
  Result<std::unique_ptr<SafetensorsWriter>> writer = SafetensorsWriter::create(path, specs);
  if (!writer) {
    return std::unexpected(std::move(writer.error()));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorView& view = tensors[i].second;
    Result<void> wrote = (*writer)->write(i, 0, {view.data, static_cast<size_t>(view.num_bytes())});
    if (!wrote) {
      return wrote;
    }
  }
  return (*writer)->finish();
}

}  // namespace deltaserve
