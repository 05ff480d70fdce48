// Bodies to files of a directory.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "headgate/cli/fetch/sink.h"
#include "headgate/cli/fetch/url.h"

namespace headgate::cli {

// Files appear complete or not at all, and never instead of another. A journal in the directory,
// .headgate-fetch, remembers which URL went where, a line each: bytes, file, URL, separated by
// tabs. So a list that was interrupted goes on where it was. One run at a time has the directory.
class FetchDirectory final : public FetchSink {
 public:
  // Makes the directory if there is none. The error names what cannot be used.
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
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + '/' + name; }
  [[nodiscard]] std::string free_name(const std::string& wanted);

  std::string path_;
  int journal_ = -1;
  std::vector<File> files_;
  std::set<std::string> taken_;                        // names, by URLs of the list
  std::unordered_map<std::string, std::size_t> next_;  // number to try for a name
};

}  // namespace headgate::cli
