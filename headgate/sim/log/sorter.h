// Puts any number of records in order, in bounded memory.
//
// Records are collected up to the memory that was given; what is more goes in sorted runs to a
// file without a name, which ends with the process, and reading merges the runs.
//
//   records in:  5 1 4 | 2 3 6 | 7      runs in the file:  1 4 5 | 2 3 6      in memory: 7
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"

namespace headgate::sim {

// Not thread-safe.
class Sorter {
 public:
  static constexpr std::size_t memory_usual = std::size_t{96} << 20;

  // `memory` [bytes] bounds what is held while records are added, and once more while they are
  // read. One record may be as large as that.
  explicit Sorter(std::size_t memory = memory_usual);
  ~Sorter();
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  // The error says why the file could not be written, and where that was tried.
  [[nodiscard]] Result<void, std::string> add(std::int64_t key, std::string_view record);

  // To be called once, before passes and after the last add().
  void finish();

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  // Reads all records by their keys, those of one key in the order in which they were added. Any
  // number of passes, one after the other or at once; the sorter outlives them.
  class Pass {
   public:
    explicit Pass(const Sorter& sorter);
    ~Pass();

    // False at the end or when the file can't be read, which error() then tells. `record` is good
    // until the next call.
    [[nodiscard]] bool next(std::int64_t& key, std::string_view& record);
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

   private:
    class Run;

    void sift_down(std::size_t at) noexcept;

    const Sorter& sorter_;
    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<std::size_t> heap_;  // of runs that have a record, the first one on top
    std::string error_;
    bool given_ = false;  // the top's record has been given out
  };

 private:
  struct Entry {
    std::int64_t key;
    std::uint32_t at;  // in texts_
    std::uint32_t size;
  };
  struct Extent {
    std::uint64_t begin;  // in the file
    std::uint64_t end;
  };

  void sort();
  Result<void, std::string> spill();
  Result<void, std::string> write(std::string_view bytes);

  std::size_t memory_;
  std::uint64_t size_ = 0;
  std::string texts_;
  std::vector<Entry> entries_;
  std::vector<Extent> runs_;
  int file_ = -1;
  std::uint64_t written_ = 0;
};

}  // namespace headgate::sim
