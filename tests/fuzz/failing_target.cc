// A fuzz target that fails for inputs which begin with an 'x', in the way that FAULT names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

// Uses up the stack with each depth, which ends after a terabyte of it.
int recurse(int depth) {
  volatile char used[1024] = {};
  used[0] = 1;
  return depth == 0 ? 0 : recurse(depth - 1) + used[0];
}

[[maybe_unused]] void recursion() {
  if (recurse(1 << 30) == 0) std::exit(0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == 'x') FAULT();
  return 0;
}
