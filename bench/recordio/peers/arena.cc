// Reads a RecordIO-protobuf file as a C++ program would: frames from memory, each record parsed by
// Google's protobuf on an arena that is reset now and then, its values copied to a batch of rows.
// Prints the best and the median seconds of several passes over the file.
#include <google/protobuf/arena.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "recordio/recordpb/record.pb.h"

int main(int argc, char** argv) {
  const size_t columns = std::atoi(argv[2]);
  const int passes = std::atoi(argv[3]);
  std::ifstream in(argv[1], std::ios::binary);
  const std::string data((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<float> batch(1000 * columns);
  std::vector<double> seconds;
  double sum = 0;
  for (int pass = 0; pass < passes; pass++) {
    const auto began = std::chrono::steady_clock::now();
    google::protobuf::Arena arena;
    size_t row = 0;
    for (size_t at = 0; at + 8 <= data.size(); row++) {
      uint32_t magic, word;
      std::memcpy(&magic, &data[at], 4);
      std::memcpy(&word, &data[at + 4], 4);
      if (magic != 0xced7230a) return 1;
      const size_t size = word & ((1u << 29) - 1);
      if (row % 1000 == 0) arena.Reset();
      auto* record = google::protobuf::Arena::CreateMessage<aialgs::data::Record>(&arena);
      if (!record->ParseFromArray(&data[at + 8], size)) return 1;
      const auto& values = record->features().at("values").float32_tensor().values();
      if (static_cast<size_t>(values.size()) != columns) return 1;
      std::memcpy(&batch[row % 1000 * columns], values.data(), columns * 4);
      at += 8 + (size + 3) / 4 * 4;
    }
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    sum += batch[0];
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf("%zu bytes %.6f min %.6f median %.6f max (%g)\n", data.size(), seconds.front(),
              seconds[seconds.size() / 2], seconds.back(), sum);
}
