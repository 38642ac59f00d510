// SPDX-License-Identifier: Apache-2.0
// Why: a model is a stranger until a process of its own has loaded and run it. That process may abort, hang or eat
// memory; this one reads a verdict, and loads only what is proven. The same for a file that is not ONNX yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "daemon/line/line_model.h"
#include "daemon/models/model_proofs.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

struct ProofLimits {
  std::uint64_t memory_bytes = 0;          // that the child may take; 0: not bounded
  std::chrono::seconds cpu{60};            // of processor time
  std::chrono::milliseconds wall{90'000};  // until it is killed
};
// With half of this board's memory, 256 MiB to 4 GiB.
[[nodiscard]] ProofLimits limits_of_this_board();

struct ProverOptions {
  std::filesystem::path state_folder;  // where proofs are kept; empty: until the end
  std::string program;                 // the tool; empty: beside this program, else in PATH
  ProofLimits limits = limits_of_this_board();
};

// Used by one thread at a time.
class ModelProver {
 public:
  explicit ModelProver(ProverOptions options);

  // The model loads and answers a plain grey picture with numbers from 0 to 1: known already, or seen now in a child.
  // Errors: what the child says of the model (as LineModel::open); kBadData when the model ended the child;
  // kUnavailable when time or memory did not suffice, there is no tool, or it was asked to stop, which takes a tenth
  // of a second.
  [[nodiscard]] Result<Proof> prove(const LineModelOptions& options, const std::stop_token& stop);
  // prove(), and then the same bytes loaded here. Kinglet's own demonstration model needs no proof.
  [[nodiscard]] Result<LineModel> open(const LineModelOptions& options, const std::stop_token& stop);
  // Another form than ONNX (TensorFlow Lite) becomes ONNX in a child: true, and `to` is written. False: `from` is none
  // that is known; ONNX is the guess, and prove() says whether it is. `digest` of `from` is noted in `to`. Errors as of
  // prove().
  [[nodiscard]] Result<bool> adopt(const std::filesystem::path& from, const std::filesystem::path& to,
                                   const std::string& digest, const std::stop_token& stop) const;
  // Tries again to keep what could not be kept. Nothing to do is success.
  [[nodiscard]] Result<void> save() { return proofs_.save(); }

 private:
  const ProverOptions options_;
  ModelProofs proofs_;
};

}  // namespace kinglet::daemon
