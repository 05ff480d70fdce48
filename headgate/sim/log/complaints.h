// Reports the first unreadable lines of a file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace headgate::sim {

// How many unreadable lines of one file are reported; the rest are only counted. Five show what is
// wrong without flooding a terminal.
inline constexpr std::size_t complaints_max = 5;

// Takes one message for people, such as "FILE:LINE: what is wrong, and what was expected".
using Complain = std::function<void(const std::string&)>;

// Complaints about one file; `name` is its name in them.
class Complaints {
 public:
  Complaints(std::string name, const Complain& complain)
      : name_(std::move(name)), complain_(complain) {}

  void add(std::size_t line, std::string_view what) {
    if (++count_ <= complaints_max) {
      complain_(name_ + ':' + std::to_string(line) + ": " + std::string(what));
    } else if (count_ == complaints_max + 1) {
      complain_(name_ + ": more such lines follow; they are only counted");
    }
  }

 private:
  std::string name_;
  const Complain& complain_;
  std::size_t count_ = 0;
};

}  // namespace headgate::sim
