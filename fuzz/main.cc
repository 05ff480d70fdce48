// Replays corpora through one fuzz target, so that every build runs every fuzz target on all inputs
// of its corpus. libFuzzer, which searches for new inputs, has its own main().
//
//   fuzz_sf PATH...     files, or directories with all files below them
//
// Fails if there was no input, since then nothing was tested.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t ran = 0;
  for (const fs::path& file : inputs(argc, argv)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
      return 1;
    }
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    // An exact-size copy, so that AddressSanitizer sees a read of even one byte beyond it.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
    ++ran;
  }
  std::printf("%zu inputs\n", ran);
  if (ran == 0) std::fprintf(stderr, "no inputs; expected files or directories as arguments\n");
  return ran == 0 ? 1 : 0;
}
