#include "headgate/cli/fetch/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "headgate/base/whole_number.h"
#include "headgate/cli/fetch/name.h"

namespace headgate::cli {
namespace {

constexpr const char* journal_name = ".headgate-fetch";
constexpr std::string_view part_start = ".headgate-part-";
constexpr std::string_view expected_directory =
    "; expected a directory that can be written, or the name of a new one";

std::string fault(const std::string& what) { return what + ": " + std::strerror(errno); }

bool exists(const std::string& path) {
  struct stat seen = {};
  return lstat(path.c_str(), &seen) == 0;
}

// Gives a file a name that no other file has. Otherwise returns false and sets errno.
bool rename_to_new(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL) return false;
  // Some file systems, such as NFS, always replace; this check then has to do.
  if (exists(to)) return errno = EEXIST, false;
  return rename(from.c_str(), to.c_str()) == 0;
}

bool is_file_of(const std::string& path, std::uint64_t bytes) {
  struct stat seen = {};
  return lstat(path.c_str(), &seen) == 0 && S_ISREG(seen.st_mode) &&
         static_cast<std::uint64_t>(seen.st_size) == bytes;
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65'536> room;
  ssize_t got = 0;
  while ((got = read(fd, room.data(), room.size())) > 0) {
    text.append(room.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// A line of the journal: "1234\tname\turl".
struct Entry {
  std::uint64_t bytes = 0;
  std::string_view name;
  std::string_view url;
};

std::optional<Entry> entry_of(std::string_view line) {
  const auto first = line.find('\t');
  const auto second = line.find('\t', first == line.npos ? first : first + 1);
  if (second == line.npos) return {};
  const auto bytes = whole_number<std::uint64_t>(line.substr(0, first));
  if (!bytes) return {};
  const Entry entry{*bytes, line.substr(first + 1, second - first - 1), line.substr(second + 1)};
  if (entry.name.empty() || entry.name.find('/') != entry.name.npos) return {};
  return entry;
}

}  // namespace

Result<std::unique_ptr<FetchDirectory>, std::string> FetchDirectory::open(
    const std::string& path, const std::vector<FetchUrl>& urls) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  std::error_code ignored;
  if (error && !std::filesystem::is_directory(path, ignored)) {
    return Failure<std::string>(path + ": " + error.message() + std::string(expected_directory));
  }
  std::unique_ptr<FetchDirectory> directory(new FetchDirectory(path));
  if (auto opened = directory->open_journal(); !opened) {
    return Failure<std::string>(std::move(opened.error()));
  }
  directory->remove_parts();
  directory->read_journal(urls);
  directory->name_files();
  return directory;
}

FetchDirectory::~FetchDirectory() {
  if (journal_ >= 0) close(journal_);
}

Result<void, std::string> FetchDirectory::open_journal() {
  const std::string path = path_of(journal_name);
  journal_ =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (journal_ < 0) return Failure<std::string>(fault(path) + std::string(expected_directory));
  // A pipe, for example, would never end.
  if (struct stat seen{}; fstat(journal_, &seen) != 0 || !S_ISREG(seen.st_mode)) {
    return Failure<std::string>(path +
                                ": is not a regular file; expected the list of a former "
                                "headgate fetch, or no such file");
  }
  if (flock(journal_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failure<std::string>(fault(path));
    return Failure<std::string>(path_ + ": another headgate fetch is using this directory");
  }
  return {};
}

void FetchDirectory::read_journal(const std::vector<FetchUrl>& urls) {
  for (const FetchUrl& url : urls) files_.push_back({&url.text, {}});
  std::unordered_multimap<std::string_view, std::size_t> missing;
  for (std::size_t i = files_.size(); i-- > 0;) missing.emplace(*files_[i].url, i);

  const std::string text = read_all(journal_);
  std::string_view rest = text;
  std::vector<Entry> entries;
  std::unordered_map<std::string_view, std::size_t> last;  // by name: its last entry
  for (auto end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    const auto entry = entry_of(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    if (!entry) continue;
    last[entry->name] = entries.size();
    entries.push_back(*entry);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (last[entry.name] != i) continue;  // the file was removed, and is another URL's now
    const auto url = missing.find(entry.url);
    const std::string name(entry.name);
    if (url == missing.end() || !is_file_of(path_of(name), entry.bytes)) continue;
    taken_.insert(name);
    files_[url->second].name = name;
    files_[url->second].complete = true;
    missing.erase(url);
  }
  // A run that was killed left half a line: end it.
  if (!rest.empty() && write(journal_, "\n", 1) != 1) return;
}

// In the order of the list, so that a name does not depend on which answer comes first.
void FetchDirectory::name_files() {
  for (File& file : files_) {
    if (!file.complete) file.name = free_name(file_name_of(*file.url));
  }
}

std::string FetchDirectory::free_name(const std::string& wanted) {
  std::size_t& number = next_.try_emplace(wanted, 1).first->second;
  for (;; ++number) {
    std::string name = number == 1 ? wanted : numbered(wanted, number);
    if (!taken_.contains(name) && !exists(path_of(name))) {
      taken_.insert(name);
      ++number;
      return name;
    }
  }
}

void FetchDirectory::remove_parts() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    if (entry.path().filename().string().starts_with(part_start)) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

Result<std::unique_ptr<FetchBody>, std::string> FetchDirectory::begin(std::size_t index) {
  std::string path = path_of(std::string(part_start) + std::to_string(index));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return Failure<std::string>(fault(path));
  return std::make_unique<FetchBody>(fd, std::move(path));
}

// Adds a line to the journal, or nothing: half a line would spoil the next one. Returns false and
// sets errno if it cannot be written.
bool FetchDirectory::append(std::string_view line) {
  const off_t before = lseek(journal_, 0, SEEK_END);
  while (!line.empty()) {
    const ssize_t written = write(journal_, line.data(), line.size());
    if (written < 0) {
      const int why = errno;
      // If this fails, too, the next run ends the line.
      [[maybe_unused]] const int undone = ftruncate(journal_, before);
      errno = why;
      return false;
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Writes the journal first. If the program is killed before the file has its name, the URL is
// fetched again. In the other order the file would stay, and be fetched again under another name.
Result<void, std::string> FetchDirectory::keep(std::size_t index, std::unique_ptr<FetchBody> body) {
  File& file = files_[index];
  for (;;) {
    const std::string line =
        std::to_string(body->bytes()) + '\t' + file.name + '\t' + *file.url + '\n';
    if (!append(line)) return Failure<std::string>(fault(path_of(journal_name)));
    const std::string path = path_of(file.name);
    if (rename_to_new(body->path(), path)) {
      body->kept();
      file.complete = true;
      return {};
    }
    if (errno != EEXIST) return Failure<std::string>(fault(path));
    file.name = free_name(file_name_of(*file.url));  // another program made it meanwhile
  }
}

}  // namespace headgate::cli
