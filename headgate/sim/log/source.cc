#include "headgate/sim/log/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "headgate/base/patient_read.h"

namespace headgate::sim {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t block_bytes = std::size_t{1} << 18;

// Other packed formats, which are recognised to report them.
constexpr struct {
  std::string_view magic;
  const char* name;
} unreadable[] = {{"\xfd"
                   "7zXZ\0"sv,
                   "xz"},
                  {"BZh"sv, "bzip2"},
                  {"PK\3\4"sv, "a zip archive"},
                  {"\x04\x22\x4d\x18"sv, "lz4"}};

// Frames that hold no content, with which files of pzstd begin. Their magic numbers are 0x184D2A50
// to 0x184D2A5F, in little-endian order.
bool is_skippable_frame(std::string_view first) noexcept {
  return first.size() >= 4 && (first[0] & 0xf0) == 0x50 && first.substr(1, 3) == "\x2a\x4d\x18"sv;
}

std::size_t leading_zeros(std::span<const char> bytes) noexcept {
  return static_cast<std::size_t>(
      std::find_if(bytes.begin(), bytes.end(), [](char byte) { return byte != 0; }) -
      bytes.begin());
}

}  // namespace

class Source::File {
 public:
  File(int file, std::uint64_t size) : file_(file), size_(size) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ != STDIN_FILENO) close(file_);
  }

  // Peeked bytes come first.
  std::size_t read(std::span<char> out) {
    if (!peeked_.empty()) {
      const std::size_t n = std::min(out.size(), peeked_.size());
      std::memcpy(out.data(), peeked_.data(), n);
      peeked_.erase(0, n);
      return n;
    }
    const ssize_t n = patient_read(file_, out);
    if (n >= 0) return position_ += static_cast<std::uint64_t>(n), static_cast<std::size_t>(n);
    error = std::strerror(errno);
    return 0;
  }

  // Returns the first bytes without consuming them: up to `count`.
  std::string_view peek(std::size_t count) {
    char bytes[16];
    while (peeked_.size() < count) {
      const std::size_t had = peeked_.size();
      std::string before = std::move(peeked_);
      peeked_.clear();
      const std::size_t n = read(std::span(bytes).first(count - had));
      peeked_ = std::move(before);
      peeked_.append(bytes, n);
      if (n == 0) break;
    }
    return peeked_;
  }

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  std::string error;

 private:
  int file_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::string peeked_;
};

// Unpacks a file, which may consist of several packed members.
class Source::Unpacker {
 public:
  explicit Unpacker(File& file) : file_(file), packed_(block_bytes) {}
  virtual ~Unpacker() = default;

  // Once it has failed, it makes nothing more.
  std::size_t read(std::span<char> out) {
    while (file_.error.empty()) {
      if (at_ == end_ && !at_end_) {
        at_ = 0;
        end_ = file_.read(packed_);
        at_end_ = end_ == 0;
        if (!file_.error.empty()) return 0;
      }
      if (at_end_ && between_members()) return 0;
      const std::size_t had = end_ - at_;
      const auto [taken, made] =
          unpack(std::span<const char>(packed_).subspan(at_, had), out, file_.error);
      at_ += taken;
      if (at_end_ && taken == 0 && made == 0 && file_.error.empty()) {
        file_.error = "ends in the middle of what is packed in it";
      }
      if (!file_.error.empty()) {
        file_.error += " (byte " + std::to_string(file_.position() - (end_ - at_)) + ')';
      }
      if (made > 0) return made;
    }
    return 0;
  }

 protected:
  struct Done {
    std::size_t taken;
    std::size_t made;
  };
  // Takes from `in`, which is empty at the end of the file, and writes to `out`. read() adds the
  // place to an error.
  virtual Done unpack(std::span<const char> in, std::span<char> out, std::string& error) = 0;
  [[nodiscard]] virtual bool between_members() const noexcept = 0;

 private:
  File& file_;
  std::vector<char> packed_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
};

class Source::Gzip final : public Unpacker {
 public:
  explicit Gzip(File& file) : Unpacker(file) {
    ok_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK;  // 16: with gzip's header
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

 private:
  Done unpack(std::span<const char> in, std::span<char> out, std::string& error) override {
    if (!ok_) return error = "there is no memory to unpack it", Done{0, 0};
    if (between_ && !in.empty()) {
      const std::size_t zeros = leading_zeros(in);
      if (zeros > 0) return {zeros, 0};  // padding
      if (in[0] != '\x1f') {
        error = "is not what gzip packs: something else follows";
        return {0, 0};
      }
      inflateReset(&stream_);
      between_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      error = "is not what gzip packs: " +
              std::string(stream_.msg != nullptr ? stream_.msg : "it is damaged");
    }
    return {in.size() - stream_.avail_in, out.size() - stream_.avail_out};
  }
  [[nodiscard]] bool between_members() const noexcept override { return between_; }

  z_stream stream_{};
  bool ok_ = false;
  bool between_ = false;
};

class Source::Zstd final : public Unpacker {
 public:
  explicit Zstd(File& file) : Unpacker(file), stream_(ZSTD_createDStream()) {}
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() override { ZSTD_freeDStream(stream_); }

 private:
  Done unpack(std::span<const char> in, std::span<char> out, std::string& error) override {
    if (stream_ == nullptr) return error = "there is no memory to unpack it", Done{0, 0};
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(stream_, &to, &from);
    if (ZSTD_isError(left) != 0) {
      error = "is not what zstd packs: " + std::string(ZSTD_getErrorName(left));
    }
    between_ = left == 0;
    return {from.pos, to.pos};
  }
  [[nodiscard]] bool between_members() const noexcept override { return between_; }

  ZSTD_DStream* stream_;
  bool between_ = false;
};

Source::Source(std::unique_ptr<File> file, std::unique_ptr<Unpacker> unpacker) noexcept
    : file_(std::move(file)), unpacker_(std::move(unpacker)) {}
Source::Source(Source&&) noexcept = default;
Source::~Source() = default;

Result<Source, std::string> Source::open(const std::string& path) {
  const int opened = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return Failure<std::string>(std::strerror(errno));
  struct stat about = {};
  const bool known = fstat(opened, &about) == 0;
  auto file = std::make_unique<File>(
      opened, known && S_ISREG(about.st_mode) ? static_cast<std::uint64_t>(about.st_size) : 0);
  if (known && S_ISDIR(about.st_mode)) return Failure<std::string>(std::strerror(EISDIR));
  const std::string_view first = file->peek(6);
  if (!file->error.empty()) return Failure<std::string>(file->error);
  for (const auto& [magic, name] : unreadable) {
    if (first.starts_with(magic)) {
      return Failure<std::string>("is packed by " + std::string(name) +
                                  "; expected plain text, or what gzip or zstd packs");
    }
  }
  std::unique_ptr<Unpacker> unpacker;
  if (first.starts_with("\x1f\x8b"sv)) {
    unpacker = std::make_unique<Gzip>(*file);
  } else if (first.starts_with("\x28\xb5\x2f\xfd"sv) || is_skippable_frame(first)) {
    unpacker = std::make_unique<Zstd>(*file);
  }
  return Source(std::move(file), std::move(unpacker));
}

std::size_t Source::read(std::span<char> out) {
  return unpacker_ != nullptr ? unpacker_->read(out) : file_->read(out);
}

const std::string& Source::error() const noexcept { return file_->error; }
std::uint64_t Source::position() const noexcept { return file_->position(); }
std::uint64_t Source::size() const noexcept { return file_->size(); }

}  // namespace headgate::sim
