#include "headgate/sim/log/sorter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace headgate::sim {
namespace {

constexpr std::size_t write_bytes = std::size_t{1} << 20;
constexpr std::size_t read_bytes_max = std::size_t{1} << 20;
constexpr std::size_t read_bytes_min = std::size_t{1} << 14;

// The header of each record in the file.
struct Head {
  std::int64_t key;
  std::uint64_t size;
};

std::string spool() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

// Opens a file without a name: no other process can open it, and it is deleted when this one ends.
int open_unnamed(const std::string& directory) {
  const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = directory + "/headgate-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

Sorter::Sorter(std::size_t memory) : memory_(std::min<std::size_t>(memory, std::size_t{1} << 30)) {}

Sorter::~Sorter() {
  if (file_ >= 0) close(file_);
}

Result<void, std::string> Sorter::add(std::int64_t key, std::string_view record) {
  const std::size_t held = texts_.size() + (entries_.size() + 1) * sizeof(Entry);
  if (!entries_.empty() && held + record.size() > memory_) {
    if (auto spilt = spill(); !spilt) return spilt;
  }
  entries_.push_back(
      {key, static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(record.size())});
  texts_.append(record);
  ++size_;
  return {};
}

void Sorter::finish() { sort(); }

void Sorter::sort() {
  // `at` grows in the order of adding, so that equal keys keep it.
  const auto before = [](const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  };
  if (!std::is_sorted(entries_.begin(), entries_.end(), before)) {
    std::sort(entries_.begin(), entries_.end(), before);
  }
}

Result<void, std::string> Sorter::spill() {
  if (file_ < 0) file_ = open_unnamed(spool());
  if (file_ < 0) {
    return Failure<std::string>("there is no room to sort: " + spool() + ": " +
                                std::strerror(errno) + " (TMPDIR names another directory)");
  }
  sort();
  const std::uint64_t begin = written_;
  std::string block;
  block.reserve(write_bytes + sizeof(Head));
  for (const Entry& entry : entries_) {
    const Head head{entry.key, entry.size};
    block.append(reinterpret_cast<const char*>(&head), sizeof head);
    block.append(texts_, entry.at, entry.size);
    if (block.size() < write_bytes) continue;
    if (auto wrote = write(block); !wrote) return wrote;
    block.clear();
  }
  if (auto wrote = write(block); !wrote) return wrote;
  runs_.push_back({begin, written_});
  texts_.clear();
  entries_.clear();
  return {};
}

Result<void, std::string> Sorter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(written_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return Failure<std::string>("there is no room to sort: " + spool() + ": " +
                                  std::strerror(errno) + " (TMPDIR names another directory)");
    }
    written_ += static_cast<std::uint64_t>(n);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// One run, in the file or in memory.
class Sorter::Pass::Run {
 public:
  Run(const Sorter& sorter, Extent extent, std::size_t room)
      : sorter_(sorter), left_(extent), buffer_(room) {}
  explicit Run(const Sorter& sorter) : sorter_(sorter), in_memory_(true) {}

  std::int64_t key = 0;
  std::string_view record;
  std::string error;

  // Returns false at the end or after an error.
  bool next() {
    if (in_memory_) {
      if (index_ == sorter_.entries_.size()) return false;
      const Entry& entry = sorter_.entries_[index_++];
      key = entry.key;
      record = std::string_view(sorter_.texts_).substr(entry.at, entry.size);
      return true;
    }
    if (!have(sizeof(Head))) return false;
    Head head;
    std::memcpy(&head, buffer_.data() + begin_, sizeof head);
    begin_ += sizeof head;
    const auto size = static_cast<std::size_t>(head.size);
    if (!have(size)) return false;
    key = head.key;
    record = {buffer_.data() + begin_, size};
    begin_ += size;
    return true;
  }

 private:
  // Reads until `count` bytes are in the buffer.
  bool have(std::size_t count) {
    while (end_ - begin_ < count) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
      if (buffer_.size() < count) buffer_.resize(count);
      const std::uint64_t unread = left_.end - left_.begin;
      if (unread == 0) return false;
      const std::size_t want =
          static_cast<std::size_t>(std::min<std::uint64_t>(unread, buffer_.size() - end_));
      const ssize_t n =
          pread(sorter_.file_, buffer_.data() + end_, want, static_cast<off_t>(left_.begin));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        error = n < 0 ? std::strerror(errno) : "the sorted records were cut short";
        return false;
      }
      left_.begin += static_cast<std::uint64_t>(n);
      end_ += static_cast<std::size_t>(n);
    }
    return true;
  }

  const Sorter& sorter_;
  bool in_memory_ = false;
  std::size_t index_ = 0;
  Extent left_{0, 0};
  std::vector<char> buffer_;  // [begin_, end_) has not been returned yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

Sorter::Pass::Pass(const Sorter& sorter) {
  const std::size_t count = std::max<std::size_t>(sorter.runs_.size(), 1);
  const std::size_t room = std::clamp(sorter.memory_ / count, read_bytes_min, read_bytes_max);
  for (const Extent& extent : sorter.runs_) {
    runs_.push_back(std::make_unique<Run>(sorter, extent, room));
  }
  runs_.push_back(std::make_unique<Run>(sorter));
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i]->next()) heap_.push_back(i);
    if (!runs_[i]->error.empty()) error_ = runs_[i]->error;
  }
  for (std::size_t i = heap_.size(); i-- > 0;) sift_down(i);
}

Sorter::Pass::~Pass() = default;

bool Sorter::Pass::next(std::int64_t& key, std::string_view& record) {
  if (given_ && !heap_.empty()) {
    Run& top = *runs_[heap_[0]];
    if (!top.next()) {
      error_ = top.error;
      std::swap(heap_[0], heap_.back());
      heap_.pop_back();
    }
    sift_down(0);
  }
  if (heap_.empty() || !error_.empty()) return false;
  given_ = true;
  key = runs_[heap_[0]]->key;
  record = runs_[heap_[0]]->record;
  return true;
}

// For equal keys, the run that was collected first comes first.
void Sorter::Pass::sift_down(std::size_t at) noexcept {
  const auto before = [this](std::size_t a, std::size_t b) {
    const std::int64_t left = runs_[heap_[a]]->key;
    const std::int64_t right = runs_[heap_[b]]->key;
    return left != right ? left < right : heap_[a] < heap_[b];
  };
  for (;;) {
    std::size_t least = at;
    for (const std::size_t child : {2 * at + 1, 2 * at + 2}) {
      if (child < heap_.size() && before(child, least)) least = child;
    }
    if (least == at) return;
    std::swap(heap_[at], heap_[least]);
    at = least;
  }
}

}  // namespace headgate::sim
