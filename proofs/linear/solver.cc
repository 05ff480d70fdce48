#include "proofs/linear/solver.h"

#include <z3.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace headgate::proofs {

Solver::Solver(Numbers numbers) : context_(Z3_mk_context(nullptr)) {
  const std::string number = numbers == Numbers::whole ? "Int" : "Real";
  answer("(define-sort Number () " + number + ")");
}

Solver::~Solver() { Z3_del_context(context_); }

std::string Solver::answer(const std::string& commands) {
  std::string text = Z3_eval_smtlib2_string(context_, commands.c_str());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.find("(error") != std::string::npos) {
    std::fprintf(stderr, "%s\n%s\n", commands.c_str(), text.c_str());
    std::exit(2);
  }
  return text;
}

void Solver::read(const std::string& text) {
  answer(text.substr(std::exchange(read_, text.size())));
}

void Solver::push() {
  answer("(push)");
  levels_.push_back(read_);
}

void Solver::pop() {
  answer("(pop)");
  read_ = levels_.back();
  levels_.pop_back();
}

}  // namespace headgate::proofs
