/// `attnscope doctor` on files written by NumPy, PyTorch reference files, the program's own traces, and damaged files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.hpp"

namespace attn::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kGoldenCases = std::string(ATTN_TEST_DATA) + "/golden/";

/// The accepted names for the mistake in each dump, by file name; empty if NumPy is not available.
std::map<std::string, std::vector<std::string>> write_dumps(const ScratchFolder& folder, int seed, int count,
                                                            const std::string& script = "doctor_dumps.py") {
    for (const char* python : {"/usr/bin/python3", "python3"}) {
        if (std::system((std::string(python) + " -c 'import numpy' > /dev/null 2>&1").c_str()) != 0) continue;
        const std::string command = std::string(python) + " '" + ATTN_TEST_DATA + "/cli/" + script + "' '" + folder.path("") + "' " +
                                    std::to_string(seed) + " " + std::to_string(count);
        EXPECT_EQ(std::system(command.c_str()), 0);
        std::map<std::string, std::vector<std::string>> expected;
        std::ifstream lines(folder.path("expected.txt"));
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string name, word;
            words >> name;
            while (words >> word) expected[name].push_back(word);
        }
        EXPECT_EQ(expected.size(), static_cast<std::size_t>(count));
        return expected;
    }
    return {};
}

/// The lines of --json for these files, processed in groups.
std::vector<json> diagnose(const std::vector<std::string>& files) {
    std::vector<json> lines;
    for (std::size_t first = 0; first < files.size(); first += 100) {
        std::vector<std::string> arguments{"doctor", "--json"};
        for (std::size_t i = first; i < std::min(first + 100, files.size()); ++i) arguments.push_back(files[i]);
        const Outcome outcome = attnscope(arguments);
        EXPECT_EQ(outcome.err, "");
        std::istringstream text(outcome.out);
        for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    }
    EXPECT_EQ(lines.size(), files.size());
    return lines;
}

/// Counts how often each mistake was tested; every verdict must be an expected one.
std::map<std::string, int> judge_dumps(const ScratchFolder& folder, const std::map<std::string, std::vector<std::string>>& expected) {
    std::vector<std::string> files;
    for (const auto& [name, names] : expected) files.push_back(folder.path(name));
    std::map<std::string, int> tried;
    for (const json& line : diagnose(files)) {
        const std::string name = std::filesystem::path(line.at("file").get<std::string>()).filename();
        const std::vector<std::string>& names = expected.at(name);
        const std::string verdict = line.at("verdict"), found = verdict == "wrong" ? line.at("bug").get<std::string>() : verdict;
        EXPECT_THAT(names, testing::Contains(found)) << line;
        ++tried[names.front()];
        if (verdict == "wrong") {
            EXPECT_TRUE(line.at("stage").is_string()) << line;
            EXPECT_TRUE(line.at("cell").is_array()) << line;
            EXPECT_GT(line.at("explanation").get<std::string>().size(), 20U);
        } else {
            EXPECT_TRUE(line.at("bug").is_null() && line.at("stage").is_null() && line.at("cell").is_null()) << line;
        }
    }
    return tried;
}

TEST(DoctorCommand, NamesTheMistakeInWhatNumPyWrote) {
    const ScratchFolder folder;
    const auto expected = write_dumps(folder, 22, 300);
    if (expected.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";
    const std::map<std::string, int> tried = judge_dumps(folder, expected);
    EXPECT_GE(tried.size(), 22U) << "every mistake, and none; causal_offset is rare here";
    for (const auto& [bug, count] : tried) EXPECT_GE(count, bug == "causal_offset" ? 1 : 2) << bug;
}

TEST(DoctorCommand, NamesMistakesAboutPositionsAndSharedHeads) {
    const ScratchFolder folder;
    const auto expected = write_dumps(folder, 102, 400, "doctor_position_dumps.py");
    if (expected.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";
    const std::map<std::string, int> tried = judge_dumps(folder, expected);
    EXPECT_EQ(tried.size(), 10U) << "every mistake, other rotations, and none";
    for (const auto& [bug, count] : tried) EXPECT_GE(count, 2) << bug;
}

/// Right dumps are never called wrong, and no mistake beside a bias, a sink, a factor or a float mask is called right.
TEST(DoctorCommand, KnowsWhatPublishedFamiliesCompute) {
    const ScratchFolder folder;
    const auto expected = write_dumps(folder, 7, 240, "doctor_family_dumps.py");
    if (expected.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";
    const std::map<std::string, int> tried = judge_dumps(folder, expected);
    EXPECT_GE(tried.size(), 10U);
    EXPECT_GE(tried.at("correct"), 60);
}

/// Dumps after public reports, with the verdicts that people who do this work expect.
TEST(DoctorCommand, JudgesWhatPeopleRecorded) {
    const std::string folder = kGoldenCases + "doctor/";
    const json cases = json::parse(read_bytes(folder + "cases.json"));
    EXPECT_GE(cases.size(), 13U);
    for (const auto& [name, expected] : cases.items()) {
        const json line = json::parse(attnscope({"doctor", "--json", folder + name}).out);
        EXPECT_THAT(expected.at("verdict"), testing::Contains(line.at("verdict"))) << line;
        if (!expected.at("bug").is_null()) {
            EXPECT_THAT(expected.at("bug"), testing::Contains(line.at("bug"))) << line;
        }
        if (!expected.at("says").is_null()) {
            EXPECT_THAT(line.at("explanation").get<std::string>(), HasSubstr(expected.at("says").get<std::string>())) << line;
        }
    }
}

/// Rotations of the whole head or of a part of it that contradict what the file says of them.
TEST(DoctorCommand, SaysHowARotationDiffersFromTheDeclaredOne) {
    const ScratchFolder folder;
    const auto expected = write_dumps(folder, 102, 400, "doctor_position_dumps.py");
    if (expected.empty()) GTEST_SKIP() << "python3 with NumPy is not installed";
    const std::map<std::string, std::string> words = {{"_rotated_fully_", "q and k are rotated over all "},
                                                      {"_other_base_", "q and k are rotated with base 10000, but the file says"},
                                                      {"_other_pairs_", "q and k are rotated in pairs of "},
                                                      {"_frequencies_of_all_", "are those of a rotation over all "},
                                                      {"_not_rotated_", "q and k are not rotated at all"}};
    std::map<std::string, int> tried;
    std::vector<std::string> files;
    for (const auto& [name, names] : expected)
        if (names.front() == "other") files.push_back(folder.path(name));
    for (const json& line : diagnose(files))
        for (const auto& [bug, sentence] : words)
            if (line.at("file").get<std::string>().find(bug) != std::string::npos) {
                EXPECT_THAT(line.at("explanation").get<std::string>(), HasSubstr(sentence)) << line;
                ++tried[bug];
            }
    EXPECT_EQ(tried.size(), words.size());
}

TEST(DoctorCommand, FindsPyTorchsOwnNumbersCorrect) {
    std::vector<std::string> files;
    for (const char* name :
         {"sdpa_additive", "sdpa_causal", "sdpa_causal_padding", "sdpa_none", "sdpa_none_scale", "sdpa_padding", "sdpa_per_head",
          "sdpa_window", "sdpa_saturated", "mha_self", "mha_nobias", "mha_causal_padding", "mha_cross_padding", "gpt2"})
        files.push_back(kGoldenCases + name + ".safetensors");
    files.push_back(kGoldenCases + "notebook_single_head.npz");
    for (const json& line : diagnose(files)) EXPECT_EQ(line.at("verdict"), "correct") << line;
}

TEST(DoctorCommand, FindsItsOwnTracesCorrect) {
    const ScratchFolder folder;
    for (const char* preset : {"causal-attention", "encoder-block", "gpt-tiny", "encoder-decoder", "numpy-three-heads"}) {
        const std::string file = folder.path(std::string(preset) + ".safetensors");
        const Outcome traced = attnscope({"trace", "--preset", preset, "--out", file});
        ASSERT_EQ(traced.exit_code, 0) << traced.err;
        const Outcome outcome = attnscope({"doctor", file});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
        EXPECT_EQ(outcome.err, "");
        EXPECT_THAT(outcome.out, HasSubstr(": correct\n"));
    }
}

/// Heads rotated in part, soft caps, and scales other than 1/√D.
TEST(DoctorCommand, JudgesTracesOfPublishedFamilies) {
    const ScratchFolder folder;
    const std::string file = folder.path("trace.safetensors");
    for (const std::string family : {"gpt_neox", "phi", "gemma2", "gpt_neo"}) {
        const std::string model = folder.path(family);
        std::filesystem::copy(kGoldenCases + "hf/" + family, model);
        for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
            std::filesystem::copy(kGoldenCases + "hf/gpt2/" + name, model + "/" + name);  // any that gives tokens
        const std::vector<std::string> trace = {"trace", "--model", model, "--text", "12 34 5 + 1", "--out", file};
        ASSERT_EQ(attnscope(trace).exit_code, 0) << family;
        const Outcome right = attnscope({"doctor", file});
        EXPECT_EQ(right.exit_code, 0) << family << right.out << right.err;
        EXPECT_THAT(right.out, testing::AllOf(testing::Not(HasSubstr("rotary")), testing::Not(HasSubstr("softcap"))))
            << "the metadata leave nothing to guess";
        std::vector<std::string> mistaken = trace;
        mistaken.insert(mistaken.end(), {"--bug", "softmax_over_queries"});
        ASSERT_EQ(attnscope(mistaken).exit_code, 0) << family;
        EXPECT_THAT(attnscope({"doctor", file}).out, HasSubstr("wrong, softmax_over_queries")) << family;
    }
}

/// The bias is no stage of its own, but the model's: nothing is missing.
TEST(DoctorCommand, DoesNotMissTheBiasInATraceOfAModelThatHasOne) {
    const ScratchFolder folder;
    const std::string file = folder.path("trace.safetensors");
    for (const std::string family : {"bloom", "falcon_alibi", "t5"}) {
        const std::string model = folder.path(family), tokenizer = family == "t5" ? "tokenizers/t5" : "gpt2";
        std::filesystem::copy(kGoldenCases + "hf/" + family, model);
        for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
            std::filesystem::copy(kGoldenCases + "hf/" + tokenizer + "/" + name, model + "/" + name);
        ASSERT_EQ(attnscope({"trace", "--model", model, "--text", "12 34 5 + 1", "--out", file}).exit_code, 0) << family;
        const Outcome outcome = attnscope({"doctor", file});
        EXPECT_EQ(outcome.exit_code, 0) << family << outcome.out << outcome.err;
        EXPECT_THAT(outcome.out, testing::Not(HasSubstr("the file"))) << family;
    }
}

TEST(DoctorCommand, NamesTheMistakesThatTheProgramMakesOnPurpose) {
    const ScratchFolder folder;
    const std::string file = folder.path("trace.safetensors");
    for (const char* bug : {"no_scale", "softmax_over_queries", "inverted_mask", "padding_on_queries", "heads_split_without_transpose",
                            "dropout_left_on", "no_residual"}) {
        const Outcome traced = attnscope(
            {"trace", "--preset", "gpt-tiny", "--text", "the cat sat on the mat", "--text", "it sat", "--bug", bug, "--out", file});
        ASSERT_EQ(traced.exit_code, 0) << traced.err;
        const Outcome outcome = attnscope({"doctor", "--json", file});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_THAT(outcome.out, HasSubstr(bug));
    }
    const Outcome unknown = attnscope({"trace", "--bug", "typo", "--out", file});
    EXPECT_EQ(unknown.exit_code, 2);
    EXPECT_THAT(unknown.err, HasSubstr("no_scale"));
}

TEST(DoctorCommand, TellsWhetherTheFutureIsSeen) {
    const std::vector<std::string> look = {"doctor", "--preset", "causal-attention", "--leak", "3"};
    EXPECT_EQ(attnscope(look).exit_code, 0);
    std::vector<std::string> broken = look;
    broken.insert(broken.end(), {"--bug", "causal_leaks_one", "--json"});
    const Outcome outcome = attnscope(broken);
    EXPECT_EQ(outcome.exit_code, 1);
    const json line = json::parse(outcome.out);
    EXPECT_EQ(line.at("changed"), 3);
    ASSERT_EQ(line.at("moved").size(), 1U);
    EXPECT_EQ(line.at("moved")[0].at("position"), 2);
    EXPECT_EQ(attnscope({"doctor", "--leak", "99"}).exit_code, 2);
    const Outcome first = attnscope({"doctor", "--preset", "gpt-tiny", "--bug", "mask_missing", "--leak", "0"});
    EXPECT_EQ(first.exit_code, 2) << "no output is earlier: that is no proof";
    EXPECT_NE(first.err.find("earlier than position 0"), std::string::npos) << first.err;
    const Outcome both_ways = attnscope({"doctor", "--preset", "encoder-block", "--leak", "2"});
    EXPECT_EQ(both_ways.exit_code, 0) << "an encoder is meant to see what follows";
    EXPECT_NE(both_ways.out.find("as they do without a causal mask"), std::string::npos) << both_ways.out;
    EXPECT_EQ(attnscope({"doctor", "--leak", "1", "file.npz"}).exit_code, 2);
    EXPECT_EQ(attnscope({"doctor", "--bug", "no_scale", "file.npz"}).exit_code, 2);
}

/// A file built from its header, `entries`, and data.
std::string safetensors(const json& entries, const std::string& data) {
    const std::string header = entries.dump();
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
    return length + header + data;
}
json entry(const std::string& dtype, const std::vector<int>& shape, int begin, int end) {
    return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

TEST(DoctorCommand, RefusesWhatItCannotReadInOneLine) {
    const ScratchFolder folder;
    const std::string whole = read_bytes(kGoldenCases + "sdpa_causal.safetensors"), zeros(1 << 12, '\0');
    const std::map<std::string, std::string> files = {
        {"empty.safetensors", ""},
        {"empty.npz", ""},
        {"cut.safetensors", whole.substr(0, whole.size() - 1)},
        {"text.safetensors", "this is no tensor file at all"},
        {"two_axes_too_many.safetensors", safetensors({{"q", entry("F32", {1, 1, 1, 1, 2, 2}, 0, 16)}}, zeros.substr(0, 16))},
        {"no_agreement.safetensors",
         safetensors({{"q", entry("F32", {1, 2, 3, 4}, 0, 96)}, {"k", entry("F32", {1, 2, 3, 5}, 96, 216)}}, zeros.substr(0, 216))},
        {"whole_numbers.safetensors", safetensors({{"q", entry("I32", {1, 2, 3, 4}, 0, 96)}}, zeros.substr(0, 96))},
        {"nothing_in_it.safetensors", safetensors({{"q", entry("F32", {1, 0, 3, 4}, 0, 0)}}, "")},
        {"odd_heads.safetensors",
         safetensors({{"__metadata__", {{"num_heads", "many"}}}, {"q", entry("F32", {1, 2, 3, 4}, 0, 96)}}, zeros.substr(0, 96))},
        {"wrong_heads.safetensors", safetensors({{"__metadata__", {{"num_heads", "3"}}},
                                                 {"q_proj", entry("F32", {1, 2, 4}, 0, 32)},
                                                 {"weights", entry("F32", {1, 3, 2, 2}, 32, 80)}},
                                                zeros.substr(0, 80))},
        {"wrong_mask.safetensors",
         safetensors({{"weights", entry("F32", {1, 3, 2, 2}, 0, 48)}, {"mask", entry("F32", {7, 5}, 48, 188)}}, zeros.substr(0, 188))},
    };
    std::vector<std::string> paths{folder.path("missing.safetensors"), folder.path("")};
    for (const auto& [name, bytes] : files) paths.push_back(folder.file(name, bytes));
    for (const std::string& path : paths) {
        const Outcome outcome = attnscope({"doctor", path});
        EXPECT_EQ(outcome.exit_code, 2) << path << outcome.out;
        EXPECT_EQ(outcome.out, "") << path;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(outcome.err.rfind("attnscope: ", 0), 0U) << outcome.err;
        const Outcome as_json = attnscope({"doctor", "--json", path});
        EXPECT_EQ(as_json.exit_code, 2);
        EXPECT_EQ(json::parse(as_json.out).at("verdict"), "unknown");
    }
    EXPECT_EQ(attnscope({"doctor"}).exit_code, 2);
}

TEST(DoctorCommand, SurvivesEveryDamagedByteOfAHeader) {
    const ScratchFolder folder;
    const std::string whole = read_bytes(kGoldenCases + "sdpa_causal.safetensors");
    std::vector<std::string> arguments{"doctor"};
    for (std::size_t at = 0; at < 400; ++at) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 7));
        arguments.push_back(folder.file(std::to_string(at) + ".safetensors", bytes));
    }
    const Outcome outcome = attnscope(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << "ended by a signal: -1";
}

TEST(DoctorCommand, SaysWhatIsMissing) {
    const ScratchFolder folder;
    const std::string data(96, '\0');
    const Outcome only_q =
        attnscope({"doctor", folder.file("q.safetensors", safetensors({{"q", entry("F32", {1, 2, 3, 4}, 0, 96)}}, data))});
    EXPECT_EQ(only_q.exit_code, 2);
    EXPECT_EQ(only_q.err, "");
    EXPECT_THAT(only_q.out, HasSubstr("unknown"));
    EXPECT_THAT(only_q.out, HasSubstr("not enough to judge"));
    EXPECT_THAT(only_q.out, HasSubstr("Without k"));
    const Outcome other = attnscope({"doctor", folder.file("x.safetensors", safetensors({{"x", entry("F32", {4, 6}, 0, 96)}}, data))});
    EXPECT_EQ(other.exit_code, 2);
    EXPECT_THAT(other.out, HasSubstr("no attention in the file"));
}

TEST(DoctorCommand, ListsItsDoubtsInJson) {
    const ScratchFolder folder;
    // Two rows of 25 uniform weights: a single head, or the mean over several?
    std::string weights;
    const float share = 1.0F / 25;
    for (int i = 0; i < 50; ++i) weights.append(reinterpret_cast<const char*>(&share), sizeof(share));
    for (const bool told : {false, true}) {
        json header = {{"weights", entry("F32", {1, 2, 25}, 0, 200)}};
        if (told) header["__metadata__"] = {{"num_heads", "4"}};
        const Outcome outcome = attnscope({"doctor", "--json", folder.file("mean.safetensors", safetensors(header, weights))});
        const json line = json::parse(outcome.out);
        EXPECT_EQ(line.at("verdict"), "correct") << line;
        EXPECT_THAT(line.at("warnings").dump(), HasSubstr("mean")) << line;
    }
    const json healthy = json::parse(attnscope({"doctor", "--json", kGoldenCases + "sdpa_causal.safetensors"}).out);
    EXPECT_TRUE(healthy.at("warnings").is_array()) << healthy;
}

/// Of four attentions three can be judged, whose scaling is right though their scores are spread widely.
TEST(DoctorCommand, NamesWhatItCannotJudgeAndDoubtsNoScalingThatItChecked) {
    const Outcome outcome = attnscope({"doctor", kGoldenCases + "notebook_multi_head.npz"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("3 of 4 attentions are correct"));
    EXPECT_THAT(outcome.out, HasSubstr("Not judged: There is not enough to judge. Without q and k"));
    EXPECT_THAT(outcome.out, HasSubstr("√d_head = 2.00: q and k are large."));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("scaling is missing")));
    // The same scores without the scaling.
    const ScratchFolder folder;
    std::string q, scores;
    const auto put = [](std::string& bytes, float number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
    const auto sign = [](int row) { return row % 2 == 0 ? 1.F : -1.F; };
    for (int row = 0; row < 8; ++row) {
        for (int d = 0; d < 4; ++d) put(q, 3 * sign(row));
        for (int key = 0; key < 8; ++key) put(scores, 36 * sign(row) * sign(key));
    }
    const json header = {{"q", entry("F32", {1, 1, 8, 4}, 0, 128)},
                         {"k", entry("F32", {1, 1, 8, 4}, 128, 256)},
                         {"scores", entry("F32", {1, 1, 8, 8}, 256, 512)},
                         {"scaled", entry("F32", {1, 1, 8, 8}, 512, 768)}};
    const Outcome unscaled = attnscope({"doctor", folder.file("unscaled.safetensors", safetensors(header, q + q + scores + scores))});
    EXPECT_EQ(unscaled.exit_code, 1) << unscaled.out;
    EXPECT_THAT(unscaled.out, HasSubstr("either the scaling is missing or q and k are large"));
}

TEST(DoctorCommand, AStatedNumberOfHeadsHasToFit) {
    const ScratchFolder folder;
    const json header = {{"__metadata__", {{"num_heads", "6"}}}, {"weights", entry("F32", {1, 4, 3, 3}, 0, 144)}};
    const Outcome outcome = attnscope({"doctor", folder.file("heads.safetensors", safetensors(header, std::string(144, '\0')))});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("tensor \"weights\": has shape [1, 4, 3, 3], which is 4 heads, but the metadata say num_heads = 6"));
}

TEST(DoctorCommand, ARotatedPartHasToFitTheHeads) {
    const ScratchFolder folder;
    const std::map<std::pair<std::string, std::string>, std::string> problems = {
        {{"rotary_dim", "3"}, "metadata: rotary_dim \"3\" is not an even number of at least 2"},
        {{"rotary_dim", "half"}, "metadata: rotary_dim \"half\" is not an even number of at least 2"},
        {{"rotary_dim", "8"}, "metadata: rotary_dim 8 of heads with 4 dimensions is too large"},
        {{"rotary_pct", "1.5"}, "metadata: rotary_pct \"1.5\" is not a number above 0 and at most 1"},
        {{"partial_rotary_factor", "0.25"}, "metadata: partial_rotary_factor 0.25 of heads with 4 dimensions is not an even number"}};
    for (const auto& [entry_of, problem] : problems) {
        const json header = {{"__metadata__", {{entry_of.first, entry_of.second}}}, {"q", entry("F32", {1, 2, 3, 4}, 0, 96)}};
        const Outcome outcome = attnscope({"doctor", folder.file("part.safetensors", safetensors(header, std::string(96, '\0')))});
        EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
        EXPECT_THAT(outcome.err, HasSubstr(problem));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
}

TEST(DoctorCommand, TheWorstFileDecides) {
    const ScratchFolder folder;
    std::string bytes = read_bytes(kGoldenCases + "sdpa_causal.safetensors");
    const std::size_t header = 8 + static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
    const std::size_t offsets = bytes.find("data_offsets\":[", bytes.find("\"out.weights\""));
    bytes[header + std::stoul(bytes.substr(offsets + 15)) + 3] ^= 0x01;
    const std::string wrong = folder.file("wrong.safetensors", bytes), right = kGoldenCases + "sdpa_causal.safetensors";
    EXPECT_EQ(attnscope({"doctor", right}).exit_code, 0);
    const Outcome outcome = attnscope({"doctor", right, wrong, right});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("wrong, other at weights[0,0,0,0]"));
    EXPECT_EQ(attnscope({"doctor", right, wrong, folder.path("missing.npz")}).exit_code, 2);
}

}  // namespace
}  // namespace attn::test
