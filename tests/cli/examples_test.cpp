/// Runs every command line shown in README.md, CONTRIBUTING.md, assets/help and the help texts, and checks that it does what they say.
/// Unknown commands fail the test: a new example needs a check here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "engine/io/npy.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/curve_csv.hpp"
#include "tests/cli/command_lines.hpp"
#include "tests/cli/help_pages.hpp"
#include "tests/cli/process.hpp"
#include "tests/cli/window_process.hpp"
#include "tests/support/python.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::minutes kLimit{10};

/// The folder in which the commands of a group run, in order.
class Place {
public:
    Place() {
        std::filesystem::create_directories(path("assets/pictures"));
        std::filesystem::create_directory_symlink(ATTN_TEST_DATA, path("tests"));
    }
    std::string path(const std::string& name) const { return folder_.path(name); }
    std::string read(const std::string& name) const { return read_bytes(path(name)); }
    /// Runs commands that this one depends on.
    void prepare(const std::string& command) const {
        const Outcome outcome = in_shell(command, path(""), kLimit);
        ASSERT_EQ(outcome.exit_code, 0) << command << ": " << outcome.err;
    }
    void write(const std::string& name, const std::string& contents) const { std::ofstream(path(name), std::ios::binary) << contents; }

private:
    ScratchFolder folder_;
};

using Effect = std::function<void(const Outcome&, const Place&)>;

struct Example {
    std::string command;  ///< as in the text
    Effect effect;
    std::string run{};   ///< what to run instead: with values for placeholders, or with fewer steps
    Effect before = {};  ///< sets up what the command requires
    std::string err{};   ///< what it says on stderr
};

/// README.md, CONTRIBUTING.md and the help pages, concatenated.
std::string documents() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(ATTN_SOURCE "/assets/help")) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::string text = read_bytes(ATTN_SOURCE "/README.md") + "\n" + read_bytes(ATTN_SOURCE "/CONTRIBUTING.md");
    for (const std::filesystem::path& file : files) text += "\n" + read_bytes(file.string());
    EXPECT_GE(files.size(), 8U);
    return text;
}

bool has_screen() { return std::getenv("DISPLAY") != nullptr || std::getenv("ATTN_REQUIRE_GL") != nullptr; }

// Expected effects of examples.

struct Picture {
    unsigned width = 0, height = 0;
    std::size_t colors = 0;
};

Picture decode(const std::string& path) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_file(&image, path.c_str()) == 0) return {};
    image.format = PNG_FORMAT_RGBA;
    std::vector<std::uint32_t> pixels(std::size_t{image.width} * image.height);
    if (png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) == 0) return {};
    return {image.width, image.height, std::set<std::uint32_t>(pixels.begin(), pixels.end()).size()};
}

Effect picture(const std::string& name, unsigned width, unsigned height) {
    return [=](const Outcome&, const Place& place) {
        const Picture drawn = decode(place.path(name));
        EXPECT_EQ(drawn.width, width);
        EXPECT_EQ(drawn.height, height);
        EXPECT_GT(drawn.colors, 200U) << "nothing is drawn";
    };
}

Effect says(const std::string& words) {
    return [=](const Outcome& outcome, const Place&) { EXPECT_THAT(outcome.out, HasSubstr(words)); };
}

/// The folder holds a run of `last` steps that learned something in every step after `first`.
Effect trained(const std::string& folder, std::int64_t first, std::int64_t last) {
    return [=](const Outcome& outcome, const Place& place) {
        const Checkpoint now = read_checkpoint(place.path(folder + "/model.safetensors"));
        EXPECT_EQ(now.steps, last);
        const Curves curves = curves_from_csv(place.read(folder + "/curves.csv"), "curves.csv");
        ASSERT_EQ(curves.losses.size(), static_cast<std::size_t>(last));
        for (const LossPoint& point : curves.losses)
            if (point.step > first) {
                EXPECT_GT(point.learning_rate, 0) << point.step;
            }
        EXPECT_LT(curves.validations.back().loss, curves.validations.front().loss);
        EXPECT_THAT(outcome.out, HasSubstr("learning rate: "));
        for (const char* file : {"heads.csv", "moments/step-0.safetensors"})
            EXPECT_TRUE(std::filesystem::exists(place.path(folder + "/" + file))) << file;
        // Only runs that other programs can open have one.
        const bool decoder = now.settings.model.architecture == Architecture::DecoderOnly;
        EXPECT_EQ(std::filesystem::exists(place.path(folder + "/config.json")), decoder);
    };
}

/// All parameters differ from those in `before`.
Effect moved(const std::string& before, const std::string& after) {
    return [=](const Outcome&, const Place& place) {
        const auto then = read_checkpoint(place.path(before)).parameters, now = read_checkpoint(place.path(after)).parameters;
        for (const ParameterInfo& info : then->layout().entries()) {
            const float *a = then->data() + info.offset, *b = now->data() + info.offset;
            EXPECT_FALSE(std::equal(a, a + info.shape.count(), b)) << info.name << " did not move";
        }
    };
}

Effect all(const std::vector<Effect>& effects) {
    return [=](const Outcome& outcome, const Place& place) {
        for (const Effect& effect : effects) effect(outcome, place);
    };
}

/// A text with `letters` letters after the prompt.
Effect writes_on(const std::string& prompt, std::size_t letters) {
    return [=](const Outcome& outcome, const Place&) {
        EXPECT_THAT(outcome.out, StartsWith(prompt));
        EXPECT_EQ(outcome.out.size(), prompt.size() + letters + 1);
        const std::string written = outcome.out.substr(prompt.size(), letters);
        EXPECT_GT(std::set<char>(written.begin(), written.end()).size(), 1U);
    };
}

Effect holds_tensors(const std::string& file, const std::string& tensor, std::size_t axes) {
    return [=](const Outcome&, const Place& place) {
        const ArrayFile arrays = read_safetensors(place.path(file));
        EXPECT_EQ(arrays.at(tensor).shape.size(), axes);
        EXPECT_GT(arrays.arrays.size(), 10U);
    };
}

Effect measured(const std::string& unit) {
    return [=](const Outcome& outcome, const Place&) {
        std::smatch number;
        ASSERT_TRUE(std::regex_search(outcome.out, number, std::regex("([0-9.]+) " + unit))) << outcome.out;
        EXPECT_GT(std::stod(number[1]), 0);
    };
}

/// A training text for the examples' models.
std::string sea_text() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "The sea was calm on day " + std::to_string(i * i) + ", and the old boat went out. ";
    return text;
}

// Groups of examples: each runs in its own folder, in this order.

struct Group {
    std::string name;
    std::vector<Example> examples;
    bool draws = false;  ///< needs a display
};
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Group& group, std::ostream* out) { *out << group.name; }

/// The first indented block in the documents that is a JSON object.
std::string lesson_in_documents() {
    std::string block;
    for (const std::string& line : lines_of(documents())) {
        if (line == "    {" || (!block.empty() && line.starts_with("    "))) block += line + "\n";
        else if (!block.empty()) break;
    }
    return block;
}

Group training() {
    const Effect copied = [](const Outcome&, const Place& place) {
        std::filesystem::copy_file(place.path("runs/my/model.safetensors"), place.path("before.safetensors"),
                                   std::filesystem::copy_options::overwrite_existing);
    };
    const Effect text = [](const Outcome&, const Place& place) { place.write("my.txt", sea_text()); };
    const Effect another = [](const Outcome&, const Place& place) { std::filesystem::remove_all(place.path("runs/my")); };
    const Effect sampled = writes_on("The sea ", 200);
    const std::string grown = "The text grew beyond the model's context of 64 tokens: at the end, the first 143 were no longer read.\n";
    return {"training",
            {
                {"attnscope train --task repeat --out runs/repeat",
                 all({trained("runs/repeat", 0, 1000), says("accuracy by length: 1: "),
                      [](const Outcome&, const Place& place) {
                          const Curves curves = curves_from_csv(place.read("runs/repeat/curves.csv"), "curves.csv");
                          for (const LengthAccuracy& at : curves.validations.back().by_length) EXPECT_GT(at.accuracy, 0.95) << at.length;
                      }})},
                {"attnscope export --run runs/repeat --out trace.safetensors",
                 holds_tensors("trace.safetensors", "layers.0.attention.weights", 4)},
                {"attnscope export --run runs/repeat --step 0 --stage token_embedding.weight --out embedding.csv",
                 [](const Outcome&, const Place& place) {
                     const Checkpoint last = read_checkpoint(place.path("runs/repeat/model.safetensors"));
                     const std::vector<std::string> lines = lines_of(place.read("embedding.csv"));
                     ASSERT_EQ(lines.size(), 1 + static_cast<std::size_t>(last.parameters->config().vocab_size));
                     EXPECT_EQ(std::count(lines[1].begin(), lines[1].end(), ','), 1 + last.parameters->config().d_model)
                         << "index and token first";
                 }},
                // 3000 and 6000 steps of this model take minutes; a hundredth of them shows the effect.
                {"attnscope train --text-file my.txt --steps 3000 --seed 7 --out runs/my", trained("runs/my", 0, 30),
                 "attnscope train --text-file my.txt --steps 30 --seed 7 --out runs/my", text},
                {"attnscope train --text-file my.txt --steps 3000 --set model.num_layers=3 --out runs/my",
                 all({trained("runs/my", 0, 30),
                      [](const Outcome&, const Place& place) {
                          EXPECT_EQ(read_checkpoint(place.path("runs/my/model.safetensors")).settings.model.num_layers, 3);
                      }}),
                 "attnscope train --text-file my.txt --steps 30 --set model.num_layers=3 --out runs/my", another},
                {"attnscope train --text-file my.txt --tokenizer bpe --vocab 1024 --out runs/pieces",
                 [](const Outcome&, const Place& place) {
                     EXPECT_EQ(read_checkpoint(place.path("runs/pieces/model.safetensors")).tokenizer, TokenizerKind::Bpe);
                 },
                 "attnscope train --text-file my.txt --tokenizer bpe --vocab 1024 --steps 3 --set task.length=16 --out runs/pieces"},
                {"attnscope tokenize --run runs/pieces --text \"The sea was calm\" --steps",
                 all({says("\"\u0120sea\""), says(": rank "), says("\n  ids ")})},
                {"attnscope train --from my-model --text-file my.txt --out runs/further",
                 [](const Outcome&, const Place& place) {
                     const Checkpoint now = read_checkpoint(place.path("runs/further/model.safetensors"));
                     EXPECT_EQ(now.settings.from, place.path("my-model"));
                     EXPECT_EQ(now.settings.model.num_heads, 2) << "as the model has them";
                     const Curves curves = curves_from_csv(place.read("runs/further/curves.csv"), "curves.csv");
                     EXPECT_LT(curves.validations.back().loss, curves.validations.front().loss - 0.1);
                 },
                 "attnscope train --from my-model --text-file ids.txt --set task.length=8 --steps 30 --out runs/further",
                 [](const Outcome&, const Place& place) {
                     place.prepare("attnscope recording tests/golden/recorded/run.attn --model my-model");
                     std::string ids;
                     for (int i = 0; i < 300; ++i) ids += std::to_string(i * i % 11) + " ";
                     place.write("ids.txt", ids);
                 }},
                {"attnscope train --resume runs/my/model.safetensors --steps 6000 --out runs/my",
                 all({trained("runs/my", 30, 60), moved("before.safetensors", "runs/my/model.safetensors"), says("resumed after step 30")}),
                 "attnscope train --resume runs/my/model.safetensors --steps 60 --out runs/my", copied},
                {"attnscope sample --model runs/my --prompt \"The sea \" --tokens 200 --temperature 0.8", sampled, "", {}, grown},
                {"attnscope sample --model runs/my/model.safetensors --prompt \"The sea \" --tokens 200 --temperature 0.8 --top-p 0.9",
                 sampled,
                 "",
                 {},
                 grown},
                {"attnscope train --task copy --steps 500 --set train.schedule.rate=0.001 --set model.num_layers=1 --json",
                 [](const Outcome& outcome, const Place&) {
                     const std::vector<std::string> lines = lines_of(outcome.out);
                     ASSERT_EQ(lines.size(), 501U);
                     double largest = 0;
                     for (std::size_t i = 1; i < lines.size(); ++i)
                         largest = std::max(largest, json::parse(lines[i]).at("lr").get<double>());
                     EXPECT_DOUBLE_EQ(largest, 0.001);
                     EXPECT_LT(json::parse(lines.back()).at("val_loss"), json::parse(lines.front()).at("val_loss"));
                 },
                 {},
                 {},
                 "attnscope: nothing of this run will be kept: there is no --out\nattnscope: nothing of this run was kept: --out DIR keeps "
                 "it\n"},
            }};
}

Group copying() {
    return {"copying",
            {// The whole default runs are those of tests/learning; fewer steps learn enough for the samples below.
             {"attnscope train --task copy --out runs/copy", all({trained("runs/copy", 0, 800), says("accuracy by length: ")}),
              "attnscope train --task copy --steps 800 --out runs/copy"},
             {"attnscope sample --preset stories --prompt \"Lily and Tom are in the park .\" --tokens 40",
              says("Lily and Tom are in the park . ")},
             {"attnscope sample --preset stories --prompt \"Lily and Tom are in the park .\" --min-p 0.05 --top-k 40 --seed 7 --json",
              [](const Outcome& outcome, const Place&) {
                  const json tokens = json::parse(outcome.out).at("tokens");
                  ASSERT_EQ(tokens.size(), 40U);
                  for (const json& token : tokens) {
                      EXPECT_GT(token.at("chance"), 0);
                      EXPECT_LE(token.at("kept"), 40);
                  }
              }},
             {"attnscope sample --model runs/copy --prompt \"adbc>\" --tokens 4 --temperature 0",
              [](const Outcome& outcome, const Place&) { EXPECT_EQ(outcome.out, "adbc>adbc\n"); }},
             {"attnscope sample --preset translation --source \"the small cat often sees a red fox .\" --temperature 0",
              [](const Outcome& outcome, const Place&) { EXPECT_EQ(outcome.out, "ratu le mira tima vuro ruvo en loket .\n"); }},
             {"attnscope train --task translate --out runs/translate", trained("runs/translate", 0, 400),
              "attnscope train --task translate --steps 400 --out runs/translate"},
             {"attnscope sample --model runs/translate --source \"the small cat often sees a red fox .\" --temperature 0",
              [](const Outcome& outcome, const Place&) { EXPECT_EQ(outcome.out, "ratu le mira tima vuro ruvo en loket .\n"); }},
             // 1500 steps take a minute; after a few the sentence is filled in, if not well.
             {"attnscope train --task fill-in --out runs/fill-in", trained("runs/fill-in", 0, 30),
              "attnscope train --task fill-in --steps 30 --out runs/fill-in"},
             {"attnscope sample --model runs/fill-in --prompt \"Lily and Tom are in _ park .\" --temperature 0",
              [](const Outcome& outcome, const Place&) {
                  EXPECT_TRUE(outcome.out.starts_with("Lily and Tom are in ")) << outcome.out;
                  EXPECT_TRUE(outcome.out.ends_with(" park .\n")) << outcome.out;
              }}}};
}

Group pictures() {
    const Effect run = [](const Outcome&, const Place& place) {
        place.write("my.txt", sea_text());
        place.prepare("attnscope train --text-file my.txt --steps 5 --out runs/my");
    };
    return {"pictures",
            {{"attnscope render --view train --run runs/my --out run.png", picture("run.png", 1600, 1000), "", run},
             {"attnscope render --view heads --run runs/my --text \"The sea was calm\" --out heads.png", picture("heads.png", 1600, 1000)},
             {"attnscope render --stage weights --centre --out figure.svg",
              [](const Outcome&, const Place& place) {
                  const std::string svg = place.read("figure.svg");
                  for (const char* part : {"<svg", "<text", "<rect", "</svg>"}) EXPECT_THAT(svg, HasSubstr(part));
              }},
             {"attnscope render --model DIR --view precision --beside FILE.gguf --out precision.png", picture("precision.png", 1600, 1000),
              "attnscope render --model tests/golden/hf/gpt2 --view precision --beside tests/golden/hf/gpt2 --out precision.png"},
             {"attnscope render --view heads --scale 2 --size 3200x2000 --out figure.png", picture("figure.png", 3200, 2000)},
             {"attnscope render --preset stories --view knock-out --out heads.csv",
              [](const Outcome&, const Place& place) {
                  const std::string csv = place.read("heads.csv");
                  EXPECT_THAT(csv, HasSubstr(",H0,H1,H2,H3\r\nlayer 0,"));
                  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
              }},
             {"attnscope render --lesson masks --step 2 --out step.png", picture("step.png", 1600, 1000)},
             {"attnscope render --lesson masks --step 3 --answer 3 --out answered.png", picture("answered.png", 1600, 1000)},
             {"attnscope render --preset stories --out assets/pictures/first.png", picture("assets/pictures/first.png", 1600, 1000)},
             {"attnscope render --preset stories --text \"Tom gives a red ball to Lily because she is sad . Who has the ball ?\" --text "
              "\"Tom gives a red ball to Mia because she is sad . Who has the ball ?\" --view knock-out --measure logit-difference "
              "--replace-from 1 --replace positions --out patched.png",
              [](const Outcome& outcome, const Place& place) {
                  picture("patched.png", 1600, 1000)(outcome, place);
                  EXPECT_THAT(outcome.out, HasSubstr("stream, position by position, replaced by text 2's"));
              }},
             {"attnscope render --stage scores --head 1 --out assets/pictures/step.png", picture("assets/pictures/step.png", 1600, 1000)},
             // Of the picture's 400 steps, the first 100 contain the one shown.
             {"attnscope render --view train --task repeat --steps 400 --step 95 --layer 1 --head 2 --out assets/pictures/train.png",
              picture("assets/pictures/train.png", 1600, 1000),
              "attnscope render --view train --task repeat --steps 100 --step 95 --layer 1 --head 2 --out assets/pictures/train.png"}},
            true};
}

Group numbers() {
    return {"numbers",
            {{"attnscope export --text \"the cat sat\" --stage weights --layer 0 --head 1 --batch 0 --out weights.csv",
              [](const Outcome&, const Place& place) {
                  const std::vector<std::string> lines = lines_of(place.read("weights.csv"));
                  ASSERT_EQ(lines.size(), 4U);
                  EXPECT_EQ(lines[0], "query,token,0 the,1 cat,2 sat");
                  for (std::size_t row = 1; row < lines.size(); ++row) {
                      std::istringstream cells(lines[row]);
                      std::string cell;
                      std::getline(cells, cell, ',');
                      std::getline(cells, cell, ',');
                      double sum = 0;
                      for (; std::getline(cells, cell, ',');) sum += std::stod(cell);
                      EXPECT_NEAR(sum, 1, 1e-6) << lines[row];
                  }
              }},
             {"attnscope export --preset gpt-tiny --stage q --out q.npy",
              [](const Outcome&, const Place& place) {
                  const NamedArray q = read_npy(place.path("q.npy"));
                  EXPECT_EQ(q.shape, (std::vector<std::int64_t>{1, 4, 15, 16}));
                  EXPECT_EQ(q.dtype, DType::F32);
              }},
             {"attnscope export --gradients --preset gpt-tiny --out gradients.safetensors",
              [](const Outcome&, const Place& place) {
                  const ArrayFile file = read_safetensors(place.path("gradients.safetensors"));
                  ASSERT_NE(file.find("token_embedding.weight"), nullptr);
                  ASSERT_NE(file.find("layers.0.attention.scores"), nullptr);
                  const std::vector<float> gradient = values_as<float>(*file.find("token_embedding.weight"), "gradients");
                  EXPECT_TRUE(std::any_of(gradient.begin(), gradient.end(), [](float x) { return x != 0; }));
              }},
             {"attnscope snippet --stage weights > weights.py && python3 weights.py",
              [](const Outcome&, const Place& place) { EXPECT_THAT(place.read("weights.py"), HasSubstr("assert")); }},
             {"attnscope snippet --stage weights --torch", says("import torch")},
             {"attnscope snippet --stage q --torch --operands q.npz",
              [](const Outcome& outcome, const Place& place) {
                  EXPECT_THAT(outcome.out, HasSubstr("q.npz"));
                  EXPECT_TRUE(std::filesystem::exists(place.path("q.npz")));
              }},
             {"attnscope-dev bench train --config tiny", measured("tokens/s"), "attnscope-dev bench train --config tiny --steps 2"},
             {"attnscope-dev bench attention --T 1024", measured("GFLOP/s"), "attnscope-dev bench attention --T 1024 --steps 1"},
             {"attnscope-dev bench gemm", measured("GFLOP/s"), "attnscope-dev bench gemm --steps 1"},
             {"attnscope-dev bench model --model DIR", measured("tokens/s"),
              "attnscope-dev bench model --model tests/golden/hf/gpt2 --T 4,9 --decode 3 --steps 1"},
             {"attnscope-dev bench peak", measured("GFLOP/s")}}};
}

/// Replaces numbers, which depend on machine and file, to compare the text around them.
std::string without_numbers(const std::string& text) { return std::regex_replace(text, std::regex("-?[0-9]+\\.[0-9]+"), "#"); }

/// A recording of one attention with weights of 0.5, as another program would write it.
void write_recording(const Place& place) {
    std::filesystem::create_directories(place.path("run.attn"));
    place.write("run.attn/recording.json", R"({"format": "attnscope-recording/1", "graphs": [{"attentions": [{"name": "layers.0.attn",
        "axes": {"B": 1, "H": 1, "T": 2, "S": 2, "D": 4}, "scale": 1, "source": "my.py:8", "stages": [
        {"name": "q", "op": "given", "axes": "BHTD"}, {"name": "k", "op": "given", "axes": "BHSD"},
        {"name": "scores", "op": "product", "inputs": ["q", "k"], "axes": "BHTS", "line": "my.py:9"},
        {"name": "weights", "op": "softmax", "inputs": ["scores"], "axes": "BHTS"}]}]}]})");
    const std::vector<float> zeros(8, 0), scores(4, 0), weights(4, 0.5F);
    ArrayFile file;
    file.arrays = {make_array<float>("layers.0.attn/q", {1, 1, 2, 4}, zeros), make_array<float>("layers.0.attn/k", {1, 1, 2, 4}, zeros),
                   make_array<float>("layers.0.attn/scores", {1, 1, 2, 2}, scores),
                   make_array<float>("layers.0.attn/weights", {1, 1, 2, 2}, weights)};
    write_safetensors(place.path("run.attn/run1-step00000050-rank0.safetensors"), file);
}

Group verdicts() {
    const std::string dump_command = "attnscope doctor dump.safetensors";
    const Effect dump = [](const Outcome&, const Place& place) {
        // A causal attention without scaling, as a faulty program would record it: q, k, mask and weights.
        constexpr std::int64_t kTokens = 5, kSize = 8;
        std::vector<float> q(kTokens * kSize), k(q.size()), mask(kTokens * kTokens, 0), weights(mask.size(), 0);
        for (std::size_t i = 0; i < q.size(); ++i) {
            q[i] = std::sin(static_cast<float>(3 * i + 1));
            k[i] = std::cos(static_cast<float>(7 * i + 2));
        }
        for (std::int64_t t = 0; t < kTokens; ++t) {
            double sum = 0;
            std::vector<double> powers;
            for (std::int64_t s = 0; s <= t; ++s) {
                double score = 0;
                for (std::int64_t c = 0; c < kSize; ++c)
                    score += static_cast<double>(q[static_cast<std::size_t>(t * kSize + c)]) *
                             static_cast<double>(k[static_cast<std::size_t>(s * kSize + c)]);
                powers.push_back(std::exp(score));
                sum += powers.back();
            }
            for (std::int64_t s = 0; s <= t; ++s) {
                weights[static_cast<std::size_t>(t * kTokens + s)] = static_cast<float>(powers[static_cast<std::size_t>(s)] / sum);
                mask[static_cast<std::size_t>(t * kTokens + s)] = 1;
            }
        }
        ArrayFile file;
        file.arrays = {make_array<float>("q", {1, 1, kTokens, kSize}, q), make_array<float>("k", {1, 1, kTokens, kSize}, k),
                       make_array<float>("mask", {1, 1, kTokens, kTokens}, mask),
                       make_array<float>("weights", {1, 1, kTokens, kTokens}, weights)};
        write_safetensors(place.path("dump.safetensors"), file);
    };
    return {
        "verdicts",
        {{dump_command,
          [dump_command](const Outcome& outcome, const Place&) {
              std::string shown;
              for (const std::string& line : output_in_markdown(documents(), dump_command)) shown += line + "\n";
              EXPECT_NE(shown, "");
              EXPECT_EQ(without_numbers(outcome.out), without_numbers(shown)) << "the help page shows another answer";
          },
          dump_command + "; test $? = 1", dump},
         {"attnscope doctor dump.safetensors --json",
          [](const Outcome& outcome, const Place&) { EXPECT_EQ(json::parse(outcome.out).at("bug"), "no_scale"); },
          "attnscope doctor dump.safetensors --json; test $? = 1"},
         {"attnscope doctor --leak 3 --preset gpt-tiny", says("no earlier output changes")},
         {"attnscope recording run.attn",
          [](const Outcome& outcome, const Place&) {
              EXPECT_THAT(outcome.out, HasSubstr("weights  [1, 1, 2, 2]  follows"));
              EXPECT_THAT(outcome.out, HasSubstr("wrong: The scores are not divided by √4 = 2"));
              EXPECT_THAT(outcome.out, HasSubstr("(my.py:9)"));
          },
          "attnscope recording run.attn; test $? = 1", [](const Outcome&, const Place& place) { write_recording(place); }},
         {"attnscope recording run.attn --step 50 --json",
          [](const Outcome& outcome, const Place&) {
              const json line = json::parse(outcome.out);
              EXPECT_EQ(line.at("steps"), json::parse("[50]"));
              EXPECT_EQ(line.at("attentions").at(0).at("verdict"), "wrong");
              EXPECT_EQ(line.at("attentions").at(0).at("stages").at("weights"), json::parse("[1, 1, 2, 2]"));
          },
          "attnscope recording run.attn --step 50 --json; test $? = 1"},
         {"attnscope recording gpt.attn --model my-gpt",
          [](const Outcome& outcome, const Place& place) {
              EXPECT_THAT(outcome.out, HasSubstr("All 39 stages of layers 0 to 1 equal the recording"));
              EXPECT_TRUE(std::filesystem::exists(place.path("my-gpt/config.json")));
          },
          "attnscope recording gpt.attn --model my-gpt",
          [](const Outcome&, const Place& place) {
              std::filesystem::copy(std::filesystem::path(ATTN_TEST_DATA) / "golden/recorded/run.attn", place.path("gpt.attn"));
          }},
         {"attnscope export --recording run.attn --stage layers.0.attn/weights --out weights.npy",
          [](const Outcome&, const Place& place) {
              const NamedArray array = read_npy(place.path("weights.npy"));
              EXPECT_EQ(array.shape, (std::vector<std::int64_t>{1, 1, 2, 2}));
              EXPECT_EQ(values_as<float>(array, "weights.npy"), std::vector<float>(4, 0.5F));
          }},
         {"attnscope render --recording run.attn --stage weights --out recorded.png", says("step 50 of run.attn")},
         {"attnscope trace --recording run.attn --step 50 --out recorded.safetensors",
          [](const Outcome&, const Place& place) {
              const ArrayFile file = read_safetensors(place.path("recorded.safetensors"));
              const auto weights = std::find_if(file.arrays.begin(), file.arrays.end(),
                                                [](const NamedArray& array) { return array.name == "layers.0.attention.weights"; });
              ASSERT_NE(weights, file.arrays.end());
              EXPECT_EQ(values_as<float>(*weights, "recorded"), std::vector<float>(4, 0.5F));
          }},
         {"attnscope-dev check tests/golden/*.{safetensors,npz}",
          [](const Outcome& outcome, const Place&) {
              std::size_t files = 0;
              for (const auto& entry : std::filesystem::directory_iterator(ATTN_TEST_DATA "/golden"))
                  files += entry.path().extension() == ".safetensors" || entry.path().extension() == ".npz" ? 1 : 0;
              std::size_t named = 0;
              for (std::size_t at = 0; (at = outcome.out.find("tests/golden/", at)) != std::string::npos; ++at) ++named;
              EXPECT_GE(named, files);
              EXPECT_GE(files, 10U);
          }},
         {"attnscope trace --model DIR --text \"The cat sat\" --out trace.safetensors",
          holds_tensors("trace.safetensors", "layers.1.attention.weights", 4),
          "attnscope trace --model tests/golden/hf/gpt2 --text \"The cat sat\" --out trace.safetensors"},
         {"attnscope sample --model DIR --prompt \"The cat sat\" --tokens 20 --temperature 0", says("The cat sat"),
          "attnscope sample --model tests/golden/hf/gpt2 --prompt \"The cat sat\" --tokens 20 --temperature 0"},
         {"attnscope sample --document my.attnscope.json --tokens 5", says("one two"), "",
          [](const Outcome&, const Place& place) {
              place.write("my.attnscope.json", R"({"format": "attnscope-document/1", "texts": ["one two"]})");
          }},
         {"attnscope-dev check DIR", says("one.logits"), "attnscope-dev check tests/golden/hf/gpt2"},
         {"attnscope-dev check tests/golden/hf/gemma2", says("one.logits")},
         {"attnscope model DIR", says("28 tensors, 0 not used"), "attnscope model tests/golden/hf/gpt2"},
         {"attnscope model FILE.gguf", says("12 tensors, 0 not used"), "attnscope model tests/golden/gguf/llama_q4_k.gguf"},
         {"attnscope-dev check tests/golden/gguf/llama_q4_k.gguf", says("one.logits")},
         {"attnscope compare-weights DIR FILE.gguf", says("worst blocks"),
          "attnscope compare-weights tests/golden/gguf/llama_q8_0.gguf tests/golden/gguf/llama_q4_0.gguf"},
         {"attnscope compare-weights DIR FILE.gguf --json",
          [](const Outcome& outcome, const Place&) { EXPECT_EQ(json::parse(outcome.out).at("parameters").size(), 12U); },
          "attnscope compare-weights tests/golden/gguf/llama_q8_0.gguf tests/golden/gguf/llama_q4_0.gguf --json"},
         {"attnscope tokenize --model DIR --text \"The cat sat\" --text \"on the mat\"", says("\"on the mat\": "),
          "attnscope tokenize --model tests/golden/hf/gpt2 --text \"The cat sat\" --text \"on the mat\""},
         {"attnscope tokenize --model DIR --text \"The cat sat\" --pair \"on the mat\" --json", says("\"type_ids\":"),
          "attnscope tokenize --model tests/golden/hf/gpt2 --text \"The cat sat\" --pair \"on the mat\" --json"},
         {"attnscope tokenize --model DIR --text \"unhappily\" --steps", says(": rank "),
          "attnscope tokenize --model tests/golden/hf/gpt2 --text \"the weights\" --steps"},
         {"attnscope tokenize --model DIR --model FILE.gguf --text \"unhappily\"", says("both split it the same way"),
          "attnscope tokenize --model tests/golden/hf/gpt2 --model tests/golden/hf/gpt2 --text \"unhappily\""},
         {"attnscope tokenize --model DIR --texts FILE.json --no-special --json",
          [](const Outcome& outcome, const Place&) { EXPECT_EQ(lines_of(outcome.out).size(), 2U); },
          "attnscope tokenize --model tests/golden/hf/gpt2 --texts texts.json --no-special --json",
          [](const Outcome&, const Place& place) { place.write("texts.json", R"(["one", "two"])"); }},
         {"attnscope tokenize --model DIR --texts - < FILE.json", says("\"two\": "),
          "attnscope tokenize --model tests/golden/hf/gpt2 --texts - < texts.json",
          [](const Outcome&, const Place& place) { place.write("texts.json", R"(["one", "two"])"); }},
         {"attnscope ... | head -1",
          [](const Outcome& outcome, const Place&) { EXPECT_EQ(outcome.out, "141\n") << "SIGPIPE, as the help page says"; },
          "attnscope train --task bigram --steps 1000000 --json --out run | head -1 > first.txt; echo ${PIPESTATUS[0]}; test -s first.txt"},
         {"attnscope python > attnscope.py",
          [](const Outcome&, const Place& place) { EXPECT_THAT(place.read("attnscope.py"), HasSubstr("\ndef record(")); }},
         {"attnscope man > attnscope.1 && man ./attnscope.1",
          [](const Outcome&, const Place& place) { EXPECT_THAT(place.read("attnscope.1"), StartsWith(".TH ATTNSCOPE 1")); },
          "attnscope man > attnscope.1"},  // a minimal system has no man
         {"attnscope completion bash > ~/.local/share/bash-completion/completions/attnscope",
          [](const Outcome&, const Place& place) { EXPECT_THAT(place.read("attnscope"), HasSubstr("complete -F")); },
          "attnscope completion bash > attnscope && bash -n attnscope"},
         {"attnscope completion bash", says("complete -F _attnscope attnscope")},
         {"attnscope completion zsh", says("#compdef attnscope")},
         {"attnscope completion fish", says("complete -c attnscope")},
         {"attnscope man", says(".TH ATTNSCOPE 1")},
         // Only mentioned by name, so --help must know them.
         {"attnscope COMMAND --help", says("attnscope trace"), "attnscope trace --help"},
         {"attnscope train --help", says("train.schedule.rate")},
         {"attnscope model --help", says("Families: GPT-2")},
         {"attnscope lesson --list", says("masks ")},
         {"attnscope lesson masks --html masks.html",
          [](const Outcome&, const Place& place) { EXPECT_THAT(place.read("masks.html"), HasSubstr("</html>")); }},
         {"attnscope lesson my-lesson.json --html my-lesson.html",
          [](const Outcome&, const Place& place) { EXPECT_THAT(place.read("my-lesson.html"), HasSubstr("<h1>My lesson</h1>")); }, "",
          [](const Outcome&, const Place& place) { place.write("my-lesson.json", lesson_in_documents()); }},
         // The repository cannot be cloned here; the result would be this folder.
         {"git clone <this repository> attnscope && cd attnscope", says("usage: ./dev"), ATTN_SOURCE "/dev help"},
         {"./dev test run every test, with or without a display", says("test [ARGS]"), ATTN_SOURCE "/dev help"},
         {"./dev test --preset asan", says("--preset NAME"), ATTN_SOURCE "/dev help"},
         {"./dev alone check that every file compiles by itself, with clang", says("alone "), ATTN_SOURCE "/dev help"},
         {"./dev lint run clang-format and clang-tidy; --changed for files that differ from main", says("--changed"),
          ATTN_SOURCE "/dev help"},
         {"./dev page", says("page "), ATTN_SOURCE "/dev help"},
         {"./dev page --serve", says("--serve [PORT]"), ATTN_SOURCE "/dev help"},
         {"./dev page build the page for browsers in build/page", says("build/page"), ATTN_SOURCE "/dev help"},
         {"./dev models", says("models [NAME...]"), ATTN_SOURCE "/dev help"},
         {"./dev models NAME", says("models [NAME...]"), ATTN_SOURCE "/dev help"},
         {"./dev models retrain the bundled models, bit for bit (x86-64, g++ 12)", says("models [NAME...]"), ATTN_SOURCE "/dev help"},
         {"./dev package", says("package "), ATTN_SOURCE "/dev help"},
         {"./dev package build the .deb and the .tar.gz in build/package", says("package "), ATTN_SOURCE "/dev help"},
         {"./dev bench run the benchmarks", says("bench [ARGS]"), ATTN_SOURCE "/dev help"},
         {"./dev fuzz fuzz the file readers", says("fuzz [SECONDS]"), ATTN_SOURCE "/dev help"}}};
}

std::vector<Group> groups() { return {training(), copying(), pictures(), numbers(), verdicts()}; }

/// Commands that open the window, with arguments for their placeholders and the expected window title.
struct WindowExample {
    std::string command;
    std::vector<std::string> arguments;
    std::string title = "attnscope";
};

std::vector<WindowExample> windows() {
    return {{"./dev run", {}},
            {"./dev run --text \"the cat sat on the mat\"", {"--text", "the cat sat on the mat"}},
            {"attnscope [FILE] [--preset NAME [--sentence N]] [--model DIR] [--text TEXT]... [--text-file FILE]",
             {ATTN_TEST_DATA "/golden/hf/gpt2", "--text", "a sentence"}},
            {"attnscope FILE", {"notes.txt"}},
            {"attnscope run.attn", {"run.attn"}},
            {"attnscope DIR", {ATTN_TEST_DATA "/golden/hf/gpt2"}},
            {"attnscope FILE.gguf", {ATTN_TEST_DATA "/golden/gguf/llama_biased.gguf"}},
            {"attnscope lesson NAME", {"lesson", "the-block"}},
            {"attnscope lesson masks", {"lesson", "masks"}},
            {"attnscope lesson FILE", {"lesson", "my-lesson.json"}},
            {"attnscope lesson my-lesson.json", {"lesson", "my-lesson.json"}}};
}

/// All command lines in the texts, without duplicates.
std::set<std::string> shown_commands() {
    const std::vector<std::string> in_documents = commands_in_markdown(documents());
    std::set<std::string> shown(in_documents.begin(), in_documents.end());
    for (const std::vector<HelpPage>& pages : {help_pages(), dev_help_pages()})
        for (const HelpPage& page : pages)
            for (const std::string& command : commands_in_help(page.text)) shown.insert(command);
    return shown;
}

std::set<std::string> known_commands() {
    std::set<std::string> known;
    for (const Group& group : groups())
        for (const Example& example : group.examples)
            EXPECT_TRUE(known.insert(example.command).second) << example.command << " is given twice";
    for (const WindowExample& example : windows())
        EXPECT_TRUE(known.insert(example.command).second) << example.command << " is given twice";
    return known;
}

TEST(Examples, AreAllKnown) {
    const std::set<std::string> shown = shown_commands(), known = known_commands();
    for (const std::string& command : shown) EXPECT_TRUE(known.contains(command)) << "no check for this example: " << command;
    for (const std::string& command : known) EXPECT_TRUE(shown.contains(command)) << "no text shows this any more: " << command;
    EXPECT_GE(shown.size(), 40U);
}

TEST(Examples, AreFoundWhereverTheyStand) {
    // Negative control: a new example in any of these places would be found.
    const std::string text =
        "Try `attnscope trace --new` or, over the end of a line, `attnscope export\n--new`; not `attnscope` or `--new`.\n"
        "\n    $ attnscope doctor   new.npz\n    new.npz: correct\n    cd x && attnscope-dev check new\n    ./dev new\n\n"
        "| command | does |\n| --- | --- |\n| `attnscope render new`, `render newer` or `--newest` | as `attnscope lesson new` does |\n\n"
        "| tensors | shape |\n| `attnscope snippet new` `new` | none |\n";
    EXPECT_THAT(commands_in_markdown(text),
                testing::UnorderedElementsAre("attnscope trace --new", "attnscope export --new", "attnscope doctor new.npz",
                                              "cd x && attnscope-dev check new", "./dev new", "attnscope render new",
                                              "attnscope render newer", "attnscope lesson new", "attnscope snippet new"));
    EXPECT_THAT(output_in_markdown(text, "attnscope doctor new.npz"),
                testing::ElementsAre("new.npz: correct", "cd x && attnscope-dev check new", "./dev new"));
    EXPECT_THAT(commands_in_help("Usage: attnscope new [OPTIONS]\n  --file  written by attnscope new\nExamples:\n  attnscope new --json\n"),
                testing::ElementsAre("attnscope new --json"));
}

class ExampleGroup : public testing::TestWithParam<Group> {};
INSTANTIATE_TEST_SUITE_P(Examples, ExampleGroup, testing::ValuesIn(groups()), [](const auto& tested) { return tested.param.name; });

TEST_P(ExampleGroup, DoesWhatIsSaidOfIt) {
    if (GetParam().draws && !has_screen()) GTEST_SKIP() << "there is no screen";
    const Place place;
    if (GetParam().name == "numbers") ATTN_NEEDS_NUMPY(place.path(""));
    for (const Example& example : GetParam().examples) {
        SCOPED_TRACE(example.command);
        if (example.before) example.before({}, place);
        const Outcome outcome = in_shell(example.run.empty() ? example.command : example.run, place.path(""), kLimit);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        if (has_screen()) {
            EXPECT_EQ(outcome.err, example.err);
        }
        if (HasFailure()) return;
        example.effect(outcome, place);
    }
}

TEST(Examples, OpenTheWindow) {
    const WindowViewer viewer;
    if (!viewer.can_see()) GTEST_SKIP() << "there is no X server to see windows with";
    const Place place;
    place.write("my-lesson.json", lesson_in_documents());
    write_recording(place);
    place.write("notes.txt", "the cat sat on the mat\n");
    for (const WindowExample& example : windows()) {
        SCOPED_TRACE(example.command);
        std::filesystem::remove_all(place.path("config"));  // as when the program is started for the first time
        const SeenWindow seen = viewer.open(example.arguments, place.path(""));
        EXPECT_THAT(seen.title, HasSubstr(example.title)) << seen.err;
        EXPECT_GT(seen.colors, 50U);
        EXPECT_EQ(seen.err, "");
    }
    // The requested example overrides the one that was open last.
    std::filesystem::create_directories(place.path("config/attnscope"));
    place.write("config/attnscope/settings.json", R"({"preset": "causal-attention", "texts": ["one two"]})");
    const std::string model = std::string(ATTN_TEST_DATA) + "/golden/hf/gpt2";
    const SeenWindow opened = viewer.open({"--model", model}, place.path(""));
    EXPECT_THAT(opened.title, HasSubstr("attnscope")) << opened.err;
    EXPECT_EQ(opened.err, "");
    // A text that it cannot read goes to an example that can.
    place.write("config/attnscope/settings.json", R"({"preset": "addition", "texts": ["12+34:"]})");
    EXPECT_THAT(viewer.open({"--text", "the quantum flux"}, place.path("")).err, HasSubstr("cannot read this text"));
    EXPECT_EQ(viewer.open({"--text", "56+78:"}, place.path("")).err, "");
    // Nor does an example open with a text from last time that it cannot read.
    EXPECT_EQ(viewer.open({}, place.path("")).err, "");
    place.write("config/attnscope/settings.json", R"({"preset": "addition", "texts": ["the quantum flux"]})");
    EXPECT_THAT(viewer.open({}, place.path("")).err, HasSubstr("addition cannot read the text shown last: its own text is shown."));
    // Negative control: what cannot be opened gives no window.
    const SeenWindow none = viewer.open({"lesson", "no-such-lesson"}, place.path(""));
    EXPECT_EQ(none.title, "");
    EXPECT_THAT(none.err, HasSubstr("no-such-lesson"));
}

}  // namespace
}  // namespace attn::test
