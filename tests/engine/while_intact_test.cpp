/// Weights that another program overwrites while they are read: the file is named, not the nonsense that was found in it.

#include "engine/io/while_intact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/check/check.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/precision/compare_weights.hpp"
#include "tests/engine/copied_folder.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kPackedFile = fs::path(ATTN_TEST_DATA) / "golden/gguf/llama_q8_0.gguf";

/// Writes bytes that are NaN or infinite in every format over the end of a file, and keeps its size.
void overwrite(const fs::path& path) {
    const auto size = fs::file_size(path), from = size / 2;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(from));
    const std::string bytes(size - from, '\xFF');
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));  // clocks may be coarse
}

template <class Work>
std::string problem_of(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

struct FakeFiles {
    bool changed = false;
    void require_intact() const {
        if (changed) throw FileError(FileFault::Io, "model.gguf", "", "changed");
    }
};

TEST(WhileIntact, AFileThatChangedExplainsEveryError) {
    FakeFiles files;
    EXPECT_EQ(while_intact(files, [] { return 3; }), 3);
    EXPECT_EQ(problem_of([&] { while_intact(files, [] { throw Error("the logit is NaN"); }); }), "the logit is NaN");
    EXPECT_EQ(problem_of([&] {
                  while_intact(files, [&] {
                      files.changed = true;
                      throw Error("the logit is NaN");
                  });
              }),
              "model.gguf: changed");
    EXPECT_EQ(problem_of([&] { while_intact(files, [] { return 3; }); }), "model.gguf: changed");
    EXPECT_THROW(while_intact(files, [] { throw Cancelled(); }), Cancelled);
}

TEST(WhileIntact, PackedWeightsThatChangeWhileTheyAreLoadedOrCompared) {
    const test::TemporaryFolder scratch;
    const fs::path path = scratch / "model.gguf";
    fs::copy_file(kPackedFile, path);
    const ModelFolder model = open_model_folder(path), other = open_model_folder(kPackedFile);
    const auto parameters = load_parameters<float>(model);
    bool overwritten = false;
    const auto change = [&](const WeightComparison&, std::size_t) {
        if (!std::exchange(overwritten, true)) overwrite(path);
    };
    EXPECT_THAT(problem_of([&] { compare_weights(other, model, change); }), HasSubstr("model.gguf: was changed"));
    // The scales are now infinite, but they are those of another file.
    EXPECT_THAT(problem_of([&] { load_parameters<float>(model); }), HasSubstr("model.gguf: was changed"));
    EXPECT_THAT(problem_of([&] { load_parameters<float>(open_model_folder(path)); }), HasSubstr("not finite")) << "opened anew";
}

}  // namespace
}  // namespace attn
