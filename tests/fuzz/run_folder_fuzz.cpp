/// Arbitrary bytes as the files of a run folder: refused with an Error, or round-tripped with the same number of entries.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "engine/tensor/error.hpp"
#include "engine/train/run_folder_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

/// Splits the input into pieces, each preceded by its length (4 bytes, little endian); the last may be shorter.
class Pieces {
public:
    Pieces(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
    void next_into(const std::filesystem::path& path) {
        std::uint32_t length = 0;
        if (size_ < sizeof length) return;  // the file is missing
        std::memcpy(&length, data_, sizeof length);
        const std::size_t taken = std::min<std::size_t>(length, size_ - sizeof length);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(data_ + sizeof length), static_cast<std::streamsize>(taken));
        data_ += sizeof length + taken;
        size_ -= sizeof length + taken;
    }

private:
    const std::uint8_t* data_;
    std::size_t size_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const attn::app::test::TemporaryFolder folder, again;
    const std::filesystem::path moments = folder.path() / attn::kMomentsName;
    std::filesystem::create_directory(moments);
    Pieces pieces(data, size);
    pieces.next_into(folder.path() / attn::kCheckpointName);
    pieces.next_into(folder.path() / attn::kCurvesName);
    pieces.next_into(folder.path() / attn::kHeadsName);
    pieces.next_into(moments / "step-1.safetensors");
    pieces.next_into(moments / "step-2.safetensors");
    attn::RunFolder run;
    try {
        run = attn::read_run_folder(folder.path());
    } catch (const attn::Error&) {
        return 0;
    }
    // Foreign models have no vocabulary to write.
    if (run.checkpoint.vocabulary.empty()) return 0;
    attn::write_run_folder(again.path(), run);
    const attn::RunFolder back = attn::read_run_folder(again.path());
    if (back.losses.size() != run.losses.size() || back.validations.size() != run.validations.size() ||
        back.heads.size() != run.heads.size() || back.moments.size() != run.moments.size())
        std::abort();
    return 0;
}
