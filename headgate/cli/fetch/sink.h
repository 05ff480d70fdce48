// Where bodies go.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/base/result.h"

namespace headgate::cli {

// One body as it comes: a file that nobody sees until it is kept.
class FetchBody {
 public:
  FetchBody(int fd, std::string path) noexcept : fd_(fd), path_(std::move(path)) {}
  ~FetchBody();
  FetchBody(const FetchBody&) = delete;
  FetchBody& operator=(const FetchBody&) = delete;

  // False, and error() says why, if the machine does not take it.
  [[nodiscard]] bool write(std::string_view bytes);
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }  // empty: it has none

  // It has got its name, which is not to be removed.
  void kept() noexcept { path_.clear(); }

 private:
  int fd_;
  std::string path_;
  std::size_t bytes_ = 0;
  std::string error_;
};

// Bodies of URLs, which are known by their index in the list. Not thread-safe.
class FetchSink {
 public:
  virtual ~FetchSink() = default;
  // Whether the URL is there already, complete, from an earlier run.
  [[nodiscard]] virtual bool has(std::size_t index) const = 0;
  // Whether there is room to begin with this URL now. Of those not yet kept or dropped, the first
  // always has it.
  [[nodiscard]] virtual bool has_room(std::size_t index) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<FetchBody>, std::string> begin(
      std::size_t index) = 0;
  // The body is complete. The error says why it could not be kept.
  [[nodiscard]] virtual Result<void, std::string> keep(std::size_t index,
                                                       std::unique_ptr<FetchBody> body) = 0;
  // There will be no body.
  virtual void drop(std::size_t index) = 0;
};

}  // namespace headgate::cli
