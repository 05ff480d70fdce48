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
using headgate::nanos_per_second;
using headgate::limit::Decision;
using headgate::limit::Law;
using headgate::store::Bundle;
using headgate::store::Charge;
using headgate::store::Table;
using headgate::store::TableOptions;

constexpr std::size_t memory = TableOptions::memory_min;
constexpr std::size_t changing = 640;  // offset of the part of the header that changes in use

// A file in memory, which is deleted when it is closed.
class MemoryFile {
 public:
  explicit MemoryFile(std::size_t bytes) : descriptor_(memfd_create("table", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) std::abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void write(std::size_t offset, const void* bytes, std::size_t size) const {
    if (pwrite(descriptor_, bytes, size, static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(size)) {
      std::abort();
    }
  }
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

void use(Table& table) {
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
      if (!decision.admitted && finite && decision.wait > 60 * nanos_per_second) std::abort();
      if (decision.remaining > 10) std::abort();
    }
  }
  if (table.stats().live > table.stats().cells) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool whole = data[0] % 2 == 0;
  ++data;
  --size;
  const MemoryFile file(whole ? size : memory);
  if (whole) {
    file.write(0, data, size);
  } else {
    file.write(0, good_table().data(), memory);
    file.write(changing, data, std::min(size, memory - changing));
  }
  const auto table = Table::open({.memory = memory, .file = file.path()});
  if (!whole && !table) std::abort();
  if (table) use(**table);
  return 0;
}
