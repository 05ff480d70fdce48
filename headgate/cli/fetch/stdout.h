// Writes bodies to standard output.
#pragma once

#include <map>

#include "headgate/cli/fetch/sink.h"

namespace headgate::cli {

// Writes complete bodies only, in the order of the URLs. A body that arrives before its turn waits
// in an unnamed temporary file.
class FetchStdout final : public FetchSink {
 public:
  [[nodiscard]] bool has(std::size_t) const override { return false; }
  [[nodiscard]] bool has_room(std::size_t index) const override {
    return index < next_ + early_max;
  }
  [[nodiscard]] Result<std::unique_ptr<FetchBody>, std::string> begin(std::size_t index) override;
  [[nodiscard]] Result<void, std::string> keep(std::size_t index,
                                               std::unique_ptr<FetchBody> body) override;
  void drop(std::size_t index) override;
  [[nodiscard]] std::string_view lost() const override { return lost_; }
  [[nodiscard]] std::size_t waiting() const override;

 private:
  // Each takes an open file, of which a process usually has 1024. As many as --parallel allows.
  static constexpr std::size_t early_max = 256;

  // Prints the bodies whose turn it is.
  void print_due();

  std::size_t next_ = 0;                                     // index of the next to print
  std::map<std::size_t, std::unique_ptr<FetchBody>> early_;  // null: dropped
  std::string lost_;
};

}  // namespace headgate::cli
