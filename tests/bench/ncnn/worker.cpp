// SPDX-License-Identifier: Apache-2.0
// Why: the peer that is ncnn, on its own threads, with one of its networks (networks.py) and no weights but zeros,
// which it multiplies like any others.
//
//   ncnn_worker session|half MODEL.param THREADS     the protocol of turns.h; half: in float16 where the processor has
//   it ncnn_worker once session|half MODEL.param N      N runs and nothing else (instruction counts)
#include <cpu.h>
#include <datareader.h>
#include <net.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/turns.h"
#include "tests/bench/worker_main.h"

namespace kinglet::bench {
namespace {

class Zeros final : public ncnn::DataReader {
 public:
  int scan(const char* /*format*/, void* /*to*/) const override { return 0; }
  std::size_t read(void* to, std::size_t size) const override {
    std::memset(to, 0, size);
    return size;
  }
};

// As ncnn's own benchmark has it: what a layer gave is let go, and its memory kept.
class Network {
 public:
  Network(const std::string& path, bool half, int threads) {
    ncnn::set_omp_num_threads(threads);
    values_.set_size_compare_ratio(0);
    scratch_.set_size_compare_ratio(0);
    net_.opt.num_threads = threads;
    net_.opt.blob_allocator = &values_;
    net_.opt.workspace_allocator = &scratch_;
    net_.opt.use_fp16_packed = net_.opt.use_fp16_storage = net_.opt.use_fp16_arithmetic = half;
    if (net_.load_param(path.c_str()) != 0 || net_.load_model(Zeros()) != 0)
      throw std::runtime_error(path + ": ncnn cannot load it");
    picture_.fill(0.01F);
  }

  void run() {
    ncnn::Extractor extractor = net_.create_extractor();
    ncnn::Mat scores;
    extractor.input(net_.input_names()[0], picture_);
    if (extractor.extract(net_.output_names()[0], scores) != 0) throw std::runtime_error("ncnn gives no answer");
  }

 private:
  ncnn::UnlockedPoolAllocator values_;
  ncnn::PoolAllocator scratch_;
  ncnn::Mat picture_{224, 224, 3};
  ncnn::Net net_;
};

int main_of(const std::vector<std::string>& words) {
  const bool once = words.size() == 4 && words[0] == "once";
  if (!once && words.size() != 3)
    throw std::runtime_error("session|half MODEL.param THREADS | once session|half MODEL.param N");
  const std::size_t form = once ? 1 : 0;
  const int count = std::stoi(words[form + 2]);
  Network network(words[form + 1], words[form] == "half", once ? 1 : count);
  if (!once) return serve([&] { network.run(); }, nullptr);
  for (int i = 0; i < count; ++i) network.run();
  return 0;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) {
  return kinglet::bench::run_worker("ncnn_worker", kinglet::bench::main_of, argc, argv);
}
