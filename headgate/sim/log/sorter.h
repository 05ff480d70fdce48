// Sorts any number of records in bounded memory.
//
// Records are collected until the memory is used up, then written as a sorted run to an unnamed
// file, which is deleted when the process ends. Reading merges the runs.
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

  // `memory` [bytes] is the maximum used while records are added, and again while they are read.
  // One record may be as large as that.
  explicit Sorter(std::size_t memory = memory_usual);
  ~Sorter();
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  // The error says why the file could not be written, and in which folder.
  [[nodiscard]] Result<void, std::string> add(std::int64_t key, std::string_view record);

  // Call it once, after the last add() and before the first pass.
  void finish();

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  // Reads all records sorted by key; records of equal keys keep the order in which they were added.
  // There may be any number of passes, also at the same time; the sorter outlives them.
  class Pass {
   public:
    explicit Pass(const Sorter& sorter);
    ~Pass();

    // Returns false at the end, or if the file cannot be read, which error() then returns. `record`
    // is valid until the next call.
    [[nodiscard]] bool next(std::int64_t& key, std::string_view& record);
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

   private:
    class Run;

    void sift_down(std::size_t at) noexcept;

    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<std::size_t> heap_;  // of runs that have a record, the first one on top
    std::string error_;
    bool given_ = false;  // the top's record has been returned
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
