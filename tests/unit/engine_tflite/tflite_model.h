// SPDX-License-Identifier: Apache-2.0
// Why: small TensorFlow Lite models for tests, in the format's own bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/tflite/model_generated.h"

namespace kinglet::testing {

namespace tflite = engine::tflite;

struct TfliteTensor {
  std::vector<std::int32_t> shape;
  std::int8_t type = 0;  // 0 float32, 1 float16, 2 int32, 3 uint8, 9 int8
  std::vector<std::uint8_t> data = {};
  std::vector<float> scale = {};
  std::vector<std::int64_t> zero_point = {};
  std::int32_t axis = 0;
};

template <typename T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& numbers) {
  std::vector<std::uint8_t> out(numbers.size() * sizeof(T));
  std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}

// Calls `read` with every beginning of `whole` and with each of its bytes replaced by four others.
template <typename Read>
void damage(const std::string& whole, Read read) {
  for (std::size_t i = 0; i < whole.size(); ++i) {
    read(whole.substr(0, i));
    for (const char byte : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string bytes = whole;
      bytes[i] = byte;
      read(bytes);
    }
  }
}

class TfliteModel {
 public:
  // Its number.
  std::int32_t tensor(const TfliteTensor& given) {
    buffers_.push_back(tflite::CreateBuffer(fb_, given.data.empty() ? 0 : fb_.CreateVector(given.data)));
    const auto levels = tflite::CreateQuantizationParameters(fb_, 0, 0, fb_.CreateVector(given.scale),
                                                             fb_.CreateVector(given.zero_point), 0, 0, given.axis);
    const auto name = fb_.CreateString("tensor" + std::to_string(tensors_.size()));
    tensors_.push_back(tflite::CreateFileTensor(fb_, fb_.CreateVector(given.shape), given.type,
                                                static_cast<std::uint32_t>(buffers_.size() - 1), name,
                                                given.scale.empty() ? 0 : levels));
    return static_cast<std::int32_t>(tensors_.size() - 1);
  }

  void op(int code, const std::vector<std::int32_t>& inputs, const std::vector<std::int32_t>& outputs,
          flatbuffers::Offset<void> options = 0, const char* custom = nullptr) {
    const auto name = custom == nullptr ? 0 : fb_.CreateString(custom);
    codes_.push_back(tflite::CreateOperatorCode(fb_, static_cast<std::int8_t>(std::min(code, 127)), name, 1, code));
    operators_.push_back(tflite::CreateOperator(
        fb_, static_cast<std::uint32_t>(codes_.size() - 1), fb_.CreateVector(inputs), fb_.CreateVector(outputs),
        options.IsNull() ? 0 : 1, flatbuffers::Offset<tflite::Unread>(options.o)));
  }

  // A buffer with a meaning of its own.
  void named_buffer(const char* name, const std::string& data) {
    fb_.ForceVectorAlignment(data.size(), 1, 16);
    buffers_.push_back(
        tflite::CreateBuffer(fb_, fb_.CreateVector(reinterpret_cast<const std::uint8_t*>(data.data()), data.size())));
    metadata_.push_back(
        tflite::CreateNamedBuffer(fb_, fb_.CreateString(name), static_cast<std::uint32_t>(buffers_.size() - 1)));
  }

  std::string bytes(const std::vector<std::int32_t>& inputs, const std::vector<std::int32_t>& outputs,
                    std::uint32_t version = 3, int graphs = 1) {
    const auto graph = tflite::CreateSubGraph(fb_, fb_.CreateVector(tensors_), fb_.CreateVector(inputs),
                                              fb_.CreateVector(outputs), fb_.CreateVector(operators_));
    const std::vector all(static_cast<std::size_t>(graphs), graph);
    fb_.Finish(tflite::CreateModel(fb_, version, fb_.CreateVector(codes_), fb_.CreateVector(all), 0,
                                   fb_.CreateVector(buffers_), 0, fb_.CreateVector(metadata_)),
               tflite::ModelIdentifier());
    return {reinterpret_cast<const char*>(fb_.GetBufferPointer()), fb_.GetSize()};
  }

  flatbuffers::FlatBufferBuilder& builder() { return fb_; }

 private:
  flatbuffers::FlatBufferBuilder fb_;
  std::vector<flatbuffers::Offset<tflite::FileTensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
  std::vector<flatbuffers::Offset<tflite::NamedBuffer>> metadata_;
};

}  // namespace kinglet::testing
