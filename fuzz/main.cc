// Runs one fuzz target without libFuzzer, which has its own main().
//
//   fuzz_sf PATH...     replays files, or directories with all files below them: so every build
//                       runs every fuzz target on all inputs of its corpus
//   fuzz_sf --blind SECONDS SEED FAILURE PATH...
//                       then tries changes of these inputs for so long. It learns nothing from them
//                       and finds less per run than libFuzzer, but makes some 20 times as many
//                       runs. An input that makes the target fail is written to the file FAILURE.
//
// Fails if there was no input, since then nothing was tested.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using headgate::fuzz::Bytes;
using headgate::fuzz::Mutator;

// Longer inputs make few runs, and what they reach is reached by shorter ones.
constexpr std::size_t blind_max = 512;
constexpr unsigned patience = 10;  // [s] for a batch of runs
constexpr std::uint64_t batch = 256;

const char* failure_file = nullptr;
Bytes running;

// Only calls that are allowed in a signal handler.
void on_failure(int signal) {
  const int file = open(failure_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || write(file, running.data(), running.size()) < 0) {
    constexpr std::string_view lost = "the failing input cannot be written\n";
    (void)!write(STDERR_FILENO, lost.data(), lost.size());
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void watch_for_failures() {
  static Bytes stack(64 * 1024);  // the target's own may be what has run out
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = on_failure;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    sigaction(signal, &action, nullptr);
  }
}

std::vector<fs::path> files_of(char** begin, char** end) {
  std::vector<fs::path> files;
  for (char** path = begin; path != end; ++path) {
    if (!fs::is_directory(*path)) {
      files.emplace_back(*path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(*path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void run(const Bytes& bytes) {
  // An exact-size copy, so that AddressSanitizer sees a read of even one byte beyond it.
  running = Bytes(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(running.data(), running.size());
}

void run_blind(std::vector<Bytes> inputs, double seconds, std::uint64_t seed) {
  std::erase_if(inputs, [](const Bytes& input) { return input.size() > blind_max; });
  if (inputs.empty()) inputs.emplace_back();
  watch_for_failures();
  Mutator mutator(std::move(inputs), seed);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t runs = 0;
  while (Clock::now() < end) {
    alarm(patience);
    for (const std::uint64_t last = runs + batch; runs < last; ++runs) run(mutator.next());
  }
  alarm(0);
  std::printf("%llu runs\n", static_cast<unsigned long long>(runs));
}

}  // namespace

int main(int argc, char** argv) {
  const bool blind = argc > 4 && argv[1] == std::string_view("--blind");
  std::vector<Bytes> inputs;
  for (const fs::path& file : files_of(argv + (blind ? 5 : 1), argv + argc)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
      return 1;
    }
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    run(inputs.back());
  }
  std::printf("%zu inputs\n", inputs.size());
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs; expected files or directories as arguments\n");
    return 1;
  }
  if (blind) {
    failure_file = argv[4];
    run_blind(std::move(inputs), std::strtod(argv[2], nullptr),
              std::strtoull(argv[3], nullptr, 10));
  }
  return 0;
}
