// Z3, which reads SMT-LIB.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

struct _Z3_context;

namespace headgate::proofs {

class Solver {
 public:
  // What the sort Number is. What is excluded for rational numbers is excluded for whole ones, and
  // found sooner.
  enum class Numbers { rational, whole };

  explicit Solver(Numbers numbers);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver();

  // Z3's answer to commands. Ends the program if they are wrong.
  std::string answer(const std::string& commands);

  // Reads the rest of a path's text. push() remembers how much was read, pop() forgets what was
  // read since: runs that begin alike have the same text there.
  void read(const std::string& text);
  void push();
  void pop();

 private:
  _Z3_context* context_;
  std::size_t read_ = 0;
  std::vector<std::size_t> levels_;
};

}  // namespace headgate::proofs
