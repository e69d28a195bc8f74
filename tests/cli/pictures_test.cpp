/// What a new user sees first, as pictures of a quarter of the size that are kept in tests/golden/pictures. After a change that is meant to
/// be seen, look at the new ones and keep them: ATTN_KEEP_PICTURES=1 ctest -R Pictures.

#include <gtest/gtest.h>
#include <png.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/picture.hpp"
#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

constexpr unsigned kShrink = 4, kChannels = 3;

void write_png(const std::string& path, const Picture& picture) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = picture.width;
    image.height = picture.height;
    image.format = PNG_FORMAT_RGB;
    ASSERT_NE(png_image_write_to_file(&image, path.c_str(), 0, picture.bytes.data(), 0, nullptr), 0) << image.message;
}

/// The mean of every 4 x 4 pixels: where a pane or a word stands still shows, single edges of letters do not.
Picture shrunk(const Picture& large) {
    Picture small{large.width / kShrink, large.height / kShrink, {}};
    for (unsigned y = 0; y < small.height; ++y)
        for (unsigned x = 0; x < small.width; ++x)
            for (unsigned channel = 0; channel < kChannels; ++channel) {
                unsigned sum = 0;
                for (unsigned i = 0; i < kShrink * kShrink; ++i) {
                    const std::size_t row = y * kShrink + i / kShrink, column = x * kShrink + i % kShrink;
                    sum += large.bytes[(row * large.width + column) * kChannels + channel];
                }
                small.bytes.push_back(static_cast<std::uint8_t>(sum / (kShrink * kShrink)));
            }
    return small;
}

/// The share of pixels that differ to the eye.
double difference(const Picture& a, const Picture& b) {
    constexpr int kSeen = 12;
    if (a.width != b.width || a.height != b.height) return 1;
    std::size_t different = 0;
    for (std::size_t i = 0; i < a.bytes.size(); i += kChannels) {
        int most = 0;
        for (std::size_t channel = 0; channel < kChannels; ++channel)
            most = std::max(most, std::abs(int{a.bytes[i + channel]} - int{b.bytes[i + channel]}));
        different += most > kSeen ? 1 : 0;
    }
    return static_cast<double>(different) / static_cast<double>(a.bytes.size() / kChannels);
}

/// The pictures were drawn with the fonts, Dear ImGui and OpenGL of this release.
bool is_made_here() {
    std::ifstream release("/etc/os-release");
    const std::string words((std::istreambuf_iterator<char>(release)), {});
    return words.find("VERSION_CODENAME=bookworm") != std::string::npos;
}

class Pictures : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv("DISPLAY") == nullptr && std::getenv("ATTN_REQUIRE_GL") == nullptr) GTEST_SKIP() << "there is no screen";
        if (!is_made_here()) GTEST_SKIP() << "other fonts and another Dear ImGui";
    }
    Picture drawn(std::vector<std::string> arguments) {
        const std::string path = folder_.path("drawn.png");
        arguments.insert(arguments.begin(), {"render", "--out", path});
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return shrunk(read_png(path));
    }
    /// Compares with the picture of this name, or keeps the new one.
    void expect_as_kept(const std::string& name, const Picture& now) {
        const std::string path = ATTN_SOURCE "/tests/golden/pictures/" + name + ".png";
        if (std::getenv("ATTN_KEEP_PICTURES") != nullptr) return write_png(path, now);
        EXPECT_LE(difference(now, read_png(path)), kUnseen) << path;
    }
    static constexpr double kUnseen = 0.001;
    ScratchFolder folder_;
};

TEST_F(Pictures, AreAsTheyWereLookedAt) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> views{
        {"first", {"--preset", "stories"}},
        {"heads", {"--preset", "stories", "--view", "heads"}},
        {"lesson", {"--lesson", "masks", "--step", "3"}},
        {"train", {"--preset", "stories", "--view", "train"}},
    };
    for (const auto& [name, arguments] : views)
        for (const auto& [size, theme] : {std::pair("1600x1000", "dark"), std::pair("1280x720", "light"), std::pair("900x600", "dark")}) {
            std::vector<std::string> sized = arguments;
            sized.insert(sized.end(), {"--size", size, "--theme", theme});
            expect_as_kept(name + "-" + size, drawn(sized));
        }
}

/// README's pictures are what its reader will see; that of a run holds times, which differ.
TEST_F(Pictures, OfReadmeAreTrue) {
    const std::string folder = ATTN_SOURCE "/assets/pictures/";
    EXPECT_LE(difference(drawn({"--preset", "stories"}), shrunk(read_png(folder + "first.png"))), kUnseen);
    EXPECT_LE(difference(drawn({"--stage", "scores", "--head", "1"}), shrunk(read_png(folder + "step.png"))), kUnseen);
}

/// Negative controls: another text, the next head, and a missing mask are seen.
TEST_F(Pictures, DifferWhereAnythingIsDifferent) {
    const Picture first = drawn({"--preset", "stories"});
    EXPECT_GT(difference(first, drawn({"--preset", "stories", "--head", "1"})), kUnseen);
    EXPECT_GT(difference(first, drawn({"--preset", "stories", "--sentence", "2"})), kUnseen);
    EXPECT_GT(difference(first, drawn({"--preset", "stories", "--bug", "mask_missing"})), kUnseen);
}

}  // namespace
}  // namespace attn::test
