// Writes bodies to files in a directory.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "headgate/cli/fetch/sink.h"
#include "headgate/cli/fetch/url.h"

namespace headgate::cli {

// A file appears complete or not at all, and never replaces another. The journal .headgate-fetch in
// the directory has one line per file: bytes, file, URL, separated by tabs. With it, a run that was
// interrupted is continued by the next one. A lock keeps out a second run at the same time.
class FetchDirectory final : public FetchSink {
 public:
  // Makes the directory if it does not exist. The error names the file that can't be used.
  [[nodiscard]] static Result<std::unique_ptr<FetchDirectory>, std::string> open(
      const std::string& path, const std::vector<FetchUrl>& urls);
  ~FetchDirectory() override;
  FetchDirectory(const FetchDirectory&) = delete;
  FetchDirectory& operator=(const FetchDirectory&) = delete;

  [[nodiscard]] bool has(std::size_t index) const override { return files_[index].complete; }
  [[nodiscard]] bool has_room(std::size_t) const override { return true; }
  [[nodiscard]] Result<std::unique_ptr<FetchBody>, std::string> begin(std::size_t index) override;
  [[nodiscard]] Result<void, std::string> keep(std::size_t index,
                                               std::unique_ptr<FetchBody> body) override;
  void drop(std::size_t) override {}
  [[nodiscard]] std::string_view lost() const override { return {}; }  // another may still fit
  [[nodiscard]] std::size_t waiting() const override { return 0; }

 private:
  struct File {
    const std::string* url;
    std::string name;
    bool complete = false;
  };

  explicit FetchDirectory(std::string path) : path_(std::move(path)) {}
  Result<void, std::string> open_journal();
  void read_journal(const std::vector<FetchUrl>& urls);
  void name_files();
  void remove_parts();
  [[nodiscard]] bool append(std::string_view line);
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + '/' + name; }
  [[nodiscard]] std::string free_name(const std::string& wanted);

  std::string path_;
  int journal_ = -1;
  std::vector<File> files_;
  std::set<std::string> taken_;                        // names that URLs of the list have
  std::unordered_map<std::string, std::size_t> next_;  // by name: the number to try next
};

}  // namespace headgate::cli
