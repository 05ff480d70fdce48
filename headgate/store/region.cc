#include "headgate/store/region.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace headgate::store {
namespace {

constexpr std::size_t small_page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t collapse_max = std::size_t{1} << 30;  // takes a third of a second
constexpr int advice_collapse = 25;  // MADV_COLLAPSE; glibc 2.36 has no name for it

Failure<std::string> failed(const std::string& path, const char* doing) {
  return Failure<std::string>(path + ": cannot " + doing + ": " + std::strerror(errno));
}

constexpr std::size_t up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

// Reserves address space that starts on a huge page, so that huge pages can back it. Nothing can be
// accessed there before it is mapped.
std::byte* reserve_aligned(std::size_t bytes) noexcept {
  const std::size_t wide = bytes + huge_page;
  void* raw = mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const std::size_t skip =
      up(reinterpret_cast<std::uintptr_t>(raw), huge_page) - reinterpret_cast<std::uintptr_t>(raw);
  if (skip > 0) munmap(begin, skip);
  if (wide > skip + bytes) munmap(begin + skip + bytes, wide - skip - bytes);
  return begin + skip;
}

// Maps zeroed memory to these addresses, or the file of this descriptor.
bool map_at(std::byte* at, std::size_t bytes, int flags, int descriptor = -1) noexcept {
  const int all = flags | MAP_FIXED | (descriptor < 0 ? MAP_ANONYMOUS : 0);
  return mmap(at, bytes, PROT_READ | PROT_WRITE, all, descriptor, 0) != MAP_FAILED;
}

// With huge pages a decision needs fewer page table lookups, which can take as long as all the rest
// (`build/release/bin/compare_table`). All of this is advice: with small pages everything works,
// too.
void request_huge_pages(void* at, std::size_t bytes, Sharing sharing) noexcept {
  madvise(at, bytes, MADV_HUGEPAGE);
  if (sharing == Sharing::threads || bytes > collapse_max) return;
  // Most systems do not use huge pages for shared memory at the first access, but since Linux 6.1
  // they collapse small pages into huge ones on request, if at least one small page of each is
  // allocated.
  auto* begin = static_cast<volatile std::byte*>(at);
  for (std::size_t i = 0; i + huge_page <= bytes; i += huge_page) begin[i] = std::byte{0};
  madvise(at, bytes / huge_page * huge_page, advice_collapse);
}

// Programs that have closed a standard descriptor go on writing to it. Returns the same open file
// under a higher descriptor if it is one of these; -1 if there is none, as for -1.
int above_standard(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(descriptor);
  errno = error;
  return higher;
}

// Whether there is anything of this name, also a symbolic link to nothing. Keeps errno.
bool exists(const std::string& path) noexcept {
  const int error = std::exchange(errno, 0);
  struct stat status = {};
  const bool found = lstat(path.c_str(), &status) == 0;
  errno = error;
  return found;
}

bool is_link(const std::string& path) noexcept {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

// Whether `path` names this open file, as far as can be seen. `flags`: as those of fstatat().
bool is_named(int descriptor, const std::string& path, int flags = 0) noexcept {
  struct stat open_file = {};
  struct stat named = {};
  if (fstat(descriptor, &open_file) != 0 || open_file.st_nlink == 0) return false;
  if (fstatat(AT_FDCWD, path.c_str(), &named, flags) != 0) {
    return errno != ENOENT && errno != ENOTDIR;
  }
  return open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

// Locks an open file. Returns 0, or the error.
int lock(int descriptor, int operation) noexcept {
  while (flock(descriptor, operation) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::string no_lock(int error) {
  return std::string("cannot be locked with flock(): ") + std::strerror(error) +
         "; expected a file system that has locks, as those of local disks";
}

// Opens the draft of the file `path` and locks it. Waits while another process makes the file.
// Returns -1 if that process has made it.
Result<int, std::string> lock_draft(const std::string& draft, const std::string& path) {
  for (;;) {
    const int descriptor =
        open(draft.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (descriptor < 0) {
      if (exists(path)) return -1;
      return failed(path, "create");
    }
    const int error = lock(descriptor, LOCK_EX);
    if (error == 0 && is_named(descriptor, draft, AT_SYMLINK_NOFOLLOW)) return descriptor;
    close(descriptor);
    if (error != 0) return Failure<std::string>(draft + ": " + no_lock(error));
    if (exists(path)) return -1;
  }
}

}  // namespace

std::optional<Region> Region::map(std::size_t bytes, Sharing sharing, std::size_t reach) noexcept {
  const std::size_t used = up(bytes, small_page);
  Region region;
  region.sharing_ = sharing;
  std::byte* const at = reserve_aligned(reach);
  if (at == nullptr) return std::nullopt;
  region.bytes_ = {at, bytes};
  region.reach_ = reach;
  bool mapped = false;
  if (sharing == Sharing::threads || reach == used) {
    mapped = map_at(at, used, sharing == Sharing::threads ? MAP_PRIVATE : MAP_SHARED);
  } else {
    // Shared memory that can grow is a file without a name, mapped behind its end, too.
    region.descriptor_ = above_standard(memfd_create("headgate-table", MFD_CLOEXEC));
    mapped = region.descriptor_ >= 0 &&
             ftruncate(region.descriptor_, static_cast<off_t>(used)) == 0 &&
             map_at(at, reach, MAP_SHARED, region.descriptor_);
    madvise(at + used, reach - used, MADV_DONTDUMP);  // to write a core would look at every page
  }
  if (!mapped) return std::nullopt;
  return region;
}

Result<Region, std::string> Region::anonymous(std::size_t bytes, Sharing sharing,
                                              std::size_t reach) {
  auto region = map(bytes, sharing, up(std::max(bytes, reach), small_page));
  if (!region && reach > bytes) return anonymous(bytes, sharing);
  if (!region) {
    return Failure<std::string>("cannot map " + std::to_string(bytes) +
                                " bytes of memory: " + std::strerror(errno));
  }
  request_huge_pages(region->bytes_.data(), bytes, sharing);
  return std::move(*region);
}

Result<std::optional<Region>, std::string> Region::file(const std::string& path) {
  const int descriptor =
      above_standard(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (descriptor < 0) {
    if (errno != ENOENT) return failed(path, "open");
    if (!is_link(path)) return std::nullopt;
    return Failure<std::string>(
        path +
        ": is a symbolic link to a file that does not exist; expected a "
        "table or no file. Remove the link, or name the file that it means");
  }
  Region region;
  region.descriptor_ = descriptor;
  region.on_disk_ = true;
  region.path_ = std::filesystem::absolute(path);
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) return failed(path, "stat");
  if (!S_ISREG(status.st_mode)) {
    return Failure<std::string>(path + ": is not a regular file, as a table has to be");
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0) return region;  // mmap refuses 0 bytes; the caller says what is wrong
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return failed(path, "map");
  region.bytes_ = {static_cast<std::byte*>(at), bytes};
  region.reach_ = bytes;
  return region;
}

std::size_t Region::file_bytes() const noexcept {
  struct stat status = {};
  return fstat(descriptor_, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

bool Region::has_lost_name() const noexcept { return on_disk_ && !is_named(descriptor_, path_); }

Result<void, std::string> Region::replace_begin(std::span<const std::byte> bytes) const {
  // The kernel copies a page in one step, which a signal does not interrupt.
  const ssize_t written = pwrite(descriptor_, bytes.data(), bytes.size(), 0);
  if (written == static_cast<ssize_t>(bytes.size()) && fsync(descriptor_) == 0) return {};
  return Failure<std::string>(std::string("cannot be written: ") + std::strerror(errno));
}

Result<void, std::string> Region::reserve(std::size_t reach) {
  void* const at = mremap(bytes_.data(), reach_, reach, MREMAP_MAYMOVE);
  if (at == MAP_FAILED) {
    return Failure<std::string>("cannot reserve " + std::to_string(reach) +
                                " bytes of address space: " + std::strerror(errno));
  }
  bytes_ = {static_cast<std::byte*>(at), bytes_.size()};
  reach_ = reach;
  return {};
}

Result<void, std::string> Region::grow(std::size_t from, std::size_t to) {
  if (descriptor_ >= 0 && file_bytes() < from) {
    return Failure<std::string>("cannot grow: its file was truncated");
  }
  std::byte* const at = bytes_.data() + from;
  const auto size = [](std::size_t bytes) { return static_cast<off_t>(bytes); };
  int error = 0;
  if (descriptor_ < 0) {
    if (!map_at(at, to - from, MAP_PRIVATE)) error = errno;
  } else if (ftruncate(descriptor_, size(from)) != 0) {
    error = errno;
  } else if (on_disk_) {
    error = posix_fallocate(descriptor_, size(from), size(to - from));
  } else if (ftruncate(descriptor_, size(to)) != 0) {
    error = errno;
  }
  if (error != 0) {
    // What it got stays behind the end until the next try if it cannot be given back.
    [[maybe_unused]] const int ignored = descriptor_ < 0 ? 0 : ftruncate(descriptor_, size(from));
    return Failure<std::string>("cannot get " + std::to_string(to - from) +
                                " more bytes: " + std::strerror(error));
  }
  if (!on_disk_) request_huge_pages(at, to - from, sharing_);
  bytes_ = {bytes_.data(), to};
  return {};
}

Result<void, std::string> Region::create(const std::string& path, std::size_t bytes, Fill fill,
                                         void* context) {
  const std::string draft = path + ".headgate-draft";
  const auto locked = lock_draft(draft, path);
  if (!locked) return Failure<std::string>(locked.error());
  const int descriptor = *locked;
  if (descriptor < 0) return {};
  Region region;
  region.descriptor_ = descriptor;  // and its lock, until the file has its name
  if (exists(path)) {
    unlink(draft.c_str());
    return {};
  }
  const auto discard = [&](const char* doing) {
    const auto failure = failed(path, doing);
    unlink(draft.c_str());
    return failure;
  };
  if (ftruncate(descriptor, 0) != 0) return discard("create");  // what a killed process left
  // Allocates the disk blocks now: a full disk is an error here instead of a SIGBUS later.
  const int full = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  if (full != 0) {
    errno = full;
    return discard("reserve disk space");
  }
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return discard("map");
  region.bytes_ = {static_cast<std::byte*>(at), bytes};
  region.reach_ = bytes;
  fill(region.bytes_, context);
  // The content must reach the disk before the name.
  if (msync(at, bytes, MS_SYNC) != 0 || fsync(descriptor) != 0) return discard("write");
  if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
  // Some file systems always replace; the check above then has to do.
  if (errno == EINVAL && rename(draft.c_str(), path.c_str()) == 0) return {};
  if (errno != EEXIST) return discard("create");
  unlink(draft.c_str());
  return {};
}

Region::Region(Region&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      reach_(std::exchange(other.reach_, 0)),
      sharing_(other.sharing_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      on_disk_(other.on_disk_),
      path_(std::move(other.path_)) {}

Region::~Region() {
  if (reach_ > 0) munmap(bytes_.data(), reach_);
  if (descriptor_ >= 0) close(descriptor_);
}

Result<bool, std::string> Region::join() const {
  const int error = lock(descriptor_, LOCK_EX | LOCK_NB);
  if (error == 0) return true;
  if (error != EWOULDBLOCK) return Failure<std::string>(no_lock(error));
  if (const auto shared = share(); !shared) return Failure<std::string>(shared.error());
  return false;
}

Result<void, std::string> Region::share() const {
  if (const int error = lock(descriptor_, LOCK_SH); error != 0) {
    return Failure<std::string>(no_lock(error));
  }
  return {};
}

}  // namespace headgate::store
