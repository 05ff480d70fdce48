// A policy file that `headgate check` has read, and what it found.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/policy/file/fault.h"
#include "headgate/policy/policy_set.h"

namespace headgate::cli {

// What was found where the store is.
struct CheckedStore {
  std::vector<std::string> findings;
  std::vector<std::string> faults;
};

struct CheckedFile {
  std::string name;
  std::shared_ptr<const policy::PolicySet> policies;  // nullptr: there are faults
  std::vector<policy::Fault> faults;
  std::optional<CheckedStore> store;  // if it was tried

  [[nodiscard]] bool good() const noexcept {
    return policies != nullptr && (!store || store->faults.empty());
  }
};

// Reads a policy file; "-" is standard input, whose relative paths start from this folder.
[[nodiscard]] CheckedFile check_file(const std::string& name);

// Tries the store of a file without faults.
void check_store(CheckedFile& file);

// Prints the policies on standard output unless `quiet`, and faults and warnings on standard error.
void print_in_words(const CheckedFile& file, bool quiet);

// Returns the files as one JSON object.
[[nodiscard]] std::string checked_json(const std::vector<CheckedFile>& files);

}  // namespace headgate::cli
