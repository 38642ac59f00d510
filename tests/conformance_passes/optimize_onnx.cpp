// SPDX-License-Identifier: Apache-2.0
// optimize_onnx IN OUT: what `kinglet optimize` does, without its command line, for check_passes.py. Prints one line:
// nodes before and after, milliseconds of the passes and of the proof.
#include <cstdio>
#include <print>

#include "engine/onnx/save.h"
#include "engine/session/model.h"
#include "engine/session/optimize.h"

namespace {

using namespace kinglet;

Result<void> optimize(const char* from, const char* to, bool prove) {
  const engine::ModelFile model = KINGLET_TRY(engine::open_model(from));
  const engine::Optimized done = KINGLET_TRY(engine::optimize_model(model.graph, {.prove = prove}));
  KINGLET_TRY(engine::save_model(done.graph, to, Overwrite::kReplace));
  const engine::OptimizeReport& report = done.report;
  std::println("{} {} {:.2f} {:.2f} {:.3g} {}", report.before.nodes, report.after.nodes, report.passes_ms,
               report.proof_ms, report.proof.max_error, report.proof.backend);
  for (const engine::PassRow& row : report.passes.passes) {
    if (row.rewrites > 0) std::println(stderr, "  {:28} {:5} rewrites {:8.2f} ms", row.name, row.rewrites, row.ms);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::println(stderr, "usage: optimize_onnx IN OUT [--no-proof]");
    return 64;
  }
  const auto done = optimize(argv[1], argv[2], argc == 3);
  if (done) return 0;
  std::println(stderr, "optimize_onnx: {}", describe(done.error()));
  return exit_code(done.error().code);
}
