#include "headgate/store/file_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

namespace headgate::store {
namespace {

// A process has one table, and a second one while it changes to it.
constexpr std::size_t slots_max = 8;
// Threads that were interrupted by the same truncation arrive here late. If the spare memory itself
// cannot be accessed, because the system has none left, one of them would arrive for ever.
constexpr unsigned late_max = 10'000;

struct sigaction before {};  // what was done with SIGBUS

// Zeroed memory that child processes share. In a file without a name, because of other shared
// memory the system may have to keep all of it free at once.
void* reserve_spare(std::size_t bytes) noexcept {
  const int file = memfd_create("headgate-spare", MFD_CLOEXEC);
  if (file < 0) return MAP_FAILED;
  void* spare = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    spare = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  return spare;
}

}  // namespace

// What the handler needs. Everything else is written before `begin`.
struct FileGuard::Slot {
  enum State : unsigned { guarded, replacing, replaced, failed };

  std::atomic<bool> used{false};
  std::atomic<std::byte*> begin{nullptr};  // of the file's mapping
  std::size_t size = 0;
  void* spare = nullptr;
  std::atomic<unsigned> state{guarded};
  std::atomic<unsigned> late{0};
  std::array<char, 1024> words{};  // the line for standard error
  std::size_t words_size = 0;

  void describe(const std::string& path) {
    const std::string line =
        "headgate: " + path.substr(0, words.size() / 2) +
        ": the table's file was truncated while it was in use; its quotas are full again and are "
        "kept in memory from now on. Remove the file and restart to keep them in a file\n";
    words_size = std::min(line.size(), words.size());
    std::copy_n(line.begin(), words_size, words.begin());
  }

  // Async-signal-safe. Returns whether the access can be repeated.
  bool replace() noexcept {
    unsigned expected = guarded;
    if (state.compare_exchange_strong(expected, replacing)) {
      const bool moved =
          mremap(spare, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, begin.load()) != MAP_FAILED;
      state.store(moved ? replaced : failed);
      [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, words.data(), words_size);
      return moved;
    }
    while (state.load() == replacing) {
    }
    return state.load() == replaced && late.fetch_add(1) < late_max;
  }

  [[nodiscard]] static std::array<Slot, slots_max>& all() noexcept {
    static std::array<Slot, slots_max> slots;
    return slots;
  }

  static void on_bus_error(int, siginfo_t* info, void*) noexcept {
    const int error = errno;
    const auto* at = static_cast<const std::byte*>(info->si_addr);
    if (info->si_code == BUS_ADRERR) {
      for (Slot& slot : all()) {
        const std::byte* const begin = slot.begin.load(std::memory_order_acquire);
        if (begin == nullptr || at < begin || at >= begin + slot.size) continue;
        if (!slot.replace()) break;
        errno = error;
        return;
      }
    }
    // The access is repeated, and the signal comes again; one that a process sent does not.
    sigaction(SIGBUS, &before, nullptr);
    if (info->si_code <= 0) raise(SIGBUS);
    errno = error;
  }
};

void FileGuard::watch() noexcept {
  static_cast<void>(Slot::all());  // the handler must not be the first to call it
  struct sigaction action {};
  action.sa_sigaction = Slot::on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  struct sigaction found {};
  if (sigaction(SIGBUS, &action, &found) != 0) return;
  if ((found.sa_flags & SA_SIGINFO) == 0 || found.sa_sigaction != Slot::on_bus_error) {
    before = found;
  }
}

FileGuard::FileGuard(std::span<std::byte> bytes, const std::string& path, Fill fill,
                     void* context) {
  for (Slot& slot : Slot::all()) {
    if (slot.used.exchange(true)) continue;
    void* const spare = reserve_spare(bytes.size());
    if (spare == MAP_FAILED) {
      slot.used.store(false);
      return;
    }
    fill({static_cast<std::byte*>(spare), bytes.size()}, context);
    slot.size = bytes.size();
    slot.spare = spare;
    slot.state.store(Slot::guarded);
    slot.late.store(0);
    slot.describe(path);
    slot.begin.store(bytes.data(), std::memory_order_release);
    slot_ = &slot;
    return;
  }
}

FileGuard::~FileGuard() {
  if (slot_ == nullptr) return;
  slot_->begin.store(nullptr);
  // Where the spare memory has taken the file's place, the owner of that mapping removes it.
  if (slot_->state.load() == Slot::guarded) munmap(slot_->spare, slot_->size);
  slot_->used.store(false);
}

bool FileGuard::lost() const noexcept {
  return slot_ != nullptr && slot_->state.load(std::memory_order_relaxed) == Slot::replaced;
}

}  // namespace headgate::store
