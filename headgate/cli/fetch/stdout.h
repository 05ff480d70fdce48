// Bodies to standard output.
#pragma once

#include <map>

#include "headgate/cli/fetch/sink.h"

namespace headgate::cli {

// Whole bodies only, one after the other, in the order of the URLs. Bodies that come early wait in
// unnamed temporary files.
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

 private:
  static constexpr std::size_t early_max = 256;

  Result<void, std::string> print_what_is_due();

  std::size_t next_ = 0;                                     // the next to print
  std::map<std::size_t, std::unique_ptr<FetchBody>> early_;  // null: there is none
};

}  // namespace headgate::cli
