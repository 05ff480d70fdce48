#include "headgate/policy/file/include.h"

#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>
#include <unordered_set>

#include "headgate/policy/file/map_reader.h"

namespace headgate::policy {
namespace {

// The paths that a pattern matches, or why its folder can't be read.
Result<std::vector<std::string>, std::string> expand(const std::string& pattern) {
  glob_t found{};
  const auto why = [](const char* path, int error) {
    static_cast<void>(path);
    // What is not there matches nothing.
    return error == ENOENT || error == ENOTDIR ? 0 : 1;
  };
  const int status = glob(pattern.c_str(), GLOB_NOSORT, why, &found);
  const int error = errno;
  std::vector<std::string> paths;
  for (const char* path : std::span(found.gl_pathv, found.gl_pathc)) paths.emplace_back(path);
  globfree(&found);
  if (status == 0 || status == GLOB_NOMATCH) {
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  return Failure<std::string>(status == GLOB_NOSPACE ? "needs more memory than there is"
                                                     : std::generic_category().message(error));
}

}  // namespace

std::vector<std::string> included_files(const yaml::Node& include, const std::string& policy_file,
                                        Faults& faults) {
  constexpr std::string_view expected = "the path of a file with policies, '*' for any characters";
  const auto folder = std::filesystem::path(policy_file).parent_path();
  const auto items = one_or_list(include);
  if (items.empty()) {
    faults.add(include.at, "include is an empty list; expected " + std::string(expected));
  }
  std::vector<std::string> files;
  std::unordered_set<std::string> known;
  for (const yaml::Node* item : items) {
    const auto text = read_path(*item, "include", expected, faults);
    if (!text) continue;
    const std::string pattern = (folder / *text).string();
    std::vector<std::string> found{pattern};
    if (text->find_first_of("*?[") != std::string_view::npos) {
      auto paths = expand(pattern);
      if (!paths) {
        faults.add(item->at, "include " + in_quotes(pattern) + " can't be searched: " +
                                 paths.error() + "; expected " + std::string(expected));
        continue;
      }
      found = *std::move(paths);
    }
    for (std::string& path : found) {
      if (!known.insert(path).second) continue;
      if (files.size() == included_max) {
        faults.add(item->at, "include means more than " + std::to_string(included_max) +
                                 " files; expected at most so many");
        return files;
      }
      files.push_back(std::move(path));
    }
  }
  return files;
}

}  // namespace headgate::policy
