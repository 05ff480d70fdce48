// Where the bodies of responses go.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// One body while it arrives: a file without its final name.
class FetchBody {
 public:
  FetchBody(int fd, std::string path) noexcept : fd_(fd), path_(std::move(path)) {}
  ~FetchBody();
  FetchBody(const FetchBody&) = delete;
  FetchBody& operator=(const FetchBody&) = delete;

  // Returns false if writing fails; error() is the reason.
  [[nodiscard]] bool write(std::string_view bytes);
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }  // empty: unnamed

  // The file now has its final name: the destructor must not remove it.
  void kept() noexcept { path_.clear(); }

 private:
  int fd_;
  std::string path_;
  std::size_t bytes_ = 0;
  std::string error_;
};

// Takes bodies. `index` is that of the URL in the list. Not thread-safe.
class FetchSink {
 public:
  virtual ~FetchSink() = default;
  // Whether an earlier run has stored the complete body.
  [[nodiscard]] virtual bool has(std::size_t index) const = 0;
  // Whether this URL can begin now. True for the first one that is neither kept nor dropped.
  [[nodiscard]] virtual bool has_room(std::size_t index) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<FetchBody>, std::string> begin(
      std::size_t index) = 0;
  // Stores a complete body, now or later. The error says why that failed.
  [[nodiscard]] virtual Result<void, std::string> keep(std::size_t index,
                                                       std::unique_ptr<FetchBody> body) = 0;
  // This URL gets no body.
  virtual void drop(std::size_t index) = 0;
  // Why no further body can be stored; empty: some can.
  [[nodiscard]] virtual std::string_view lost() const = 0;
  // How many bodies keep() has taken and not stored yet.
  [[nodiscard]] virtual std::size_t waiting() const = 0;
};

}  // namespace headgate::cli
