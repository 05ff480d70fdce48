// Any bytes as a table file. The first byte chooses: the rest is the whole file, or it overwrites
// the clock and the cells of a valid one. For any file, open() returns, and decisions stay within
// the limits of the law.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "headgate/store/table.h"

namespace {

using headgate::Instant;
using headgate::Nanos;
using headgate::nanos_per_second;
using headgate::limit::Decision;
using headgate::limit::Law;
using headgate::store::Bundle;
using headgate::store::Charge;
using headgate::store::Table;
using headgate::store::TableOptions;

constexpr std::size_t memory = TableOptions::memory_min;
// Offsets in the header: of the part that changes in use, and of the names of the sketch's parts.
constexpr std::size_t changing = 640;
constexpr std::size_t parts = 896;

// The longest that a damaged file may make a key wait. If it has names of parts, there may be none
// left for our laws, and they share one with laws of any window.
Nanos longest_wait(const std::string& file) {
  const bool named = file.substr(parts, 7) != std::string(7, '\0');
  return named ? Nanos{1} << 62 : 60 * nanos_per_second;
}

// A file in memory, which is deleted when it is closed.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : descriptor_(memfd_create("table", MFD_CLOEXEC)) {
    if (descriptor_ < 0 ||
        write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// The bytes of a newly created table.
const std::string& good_table() {
  static const std::string bytes = [] {
    std::string name = "/tmp/headgate-fuzz-XXXXXX";
    const int draft = mkstemp(name.data());
    unlink(name.c_str());
    close(draft);
    if (!Table::open({.memory = memory, .file = name})) std::abort();
    std::string made(memory, '\0');
    FILE* file = fopen(name.c_str(), "rb");
    if (file == nullptr || fread(made.data(), 1, memory, file) != memory) std::abort();
    fclose(file);
    unlink(name.c_str());
    return made;
  }();
  return bytes;
}

void use(Table& table, Nanos longest_wait) {
  using headgate::limit::Algorithm;
  static const std::vector<Law> laws = [] {
    std::vector<Law> made{headgate::limit::make_law({7, 10 * nanos_per_second}, {}).value()};
    for (const Algorithm algorithm :
         {Algorithm::linear, Algorithm::exponential, Algorithm::fixed_window,
          Algorithm::sliding_window_counter, Algorithm::moving_window, Algorithm::concurrency}) {
      made.push_back(
          headgate::limit::make_law({10, 10 * nanos_per_second}, {.algorithm = algorithm}).value());
    }
    return made;
  }();
  const Instant now = table.now();
  for (const Law& law : laws) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(i);
      const Charge charge{&law, key, 1};
      Decision decision;
      Bundle bundle{{&charge, 1}, {&decision, 1}};
      table.take({&bundle, 1}, now, {});
      const bool finite = decision.wait != Decision::never;
      if (!decision.admitted && finite && decision.wait > longest_wait) std::abort();
      if (decision.remaining > 10) std::abort();
    }
  }
  if (table.stats().live() > table.stats().cells()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool whole = data[0] % 2 == 0;
  ++data;
  --size;
  std::string bytes = whole ? std::string() : good_table();
  const std::size_t begin = whole ? 0 : changing;
  if (whole) bytes.resize(size);
  std::copy_n(data, std::min(size, bytes.size() - begin), bytes.begin() + begin);
  const MemoryFile file(bytes);
  const auto table = Table::open({.memory = memory, .file = file.path()});
  if (!whole && !table) std::abort();
  if (table) use(**table, longest_wait(bytes));
  return 0;
}
