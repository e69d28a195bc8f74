#include "engine/check/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tensor/error.hpp"

namespace attn::check {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kGolden = fs::path(ATTN_TEST_DATA) / "golden";

std::vector<fs::path> golden_files() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(kGolden)) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() == ".safetensors" || entry.path().extension() == ".npz") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) { return info.param.stem().string(); }

class Golden : public testing::TestWithParam<fs::path> {};
INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), name_of);

TEST_P(Golden, IsRecomputedInFloatAndInDouble) {
    for (const bool in_double : {false, true}) {
        const Report report = check_file(GetParam(), {in_double});
        EXPECT_TRUE(report.ok());
        for (const TensorResult& tensor : report.tensors)
            EXPECT_TRUE(tensor.ok) << tensor.name << " off by " << tensor.max_abs << " at " << tensor.worst_index;
    }
}

/// A modified copy of a golden file, removed at the end.
class Changed {
public:
    Changed(const std::string& name, const std::function<void(ArrayFile&)>& change)
        : path_(fs::temp_directory_path() / ("attnscope_check_" + std::to_string(::getpid()) + "_" + name)) {
        const bool npz = fs::path(name).extension() == ".npz";
        ArrayFile file = npz ? read_npz(kGolden / name) : read_safetensors(kGolden / name);
        change(file);
        std::vector<ArrayView> views;
        for (const NamedArray& array : file.arrays) views.push_back(view_of(array));
        if (npz) write_npz(path_, views);
        else write_safetensors(path_, file.metadata, views);
    }
    ~Changed() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    Changed(const Changed&) = delete;
    Changed& operator=(const Changed&) = delete;
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

NamedArray& array_of(ArrayFile& file, const std::string& name) {
    for (NamedArray& array : file.arrays)
        if (array.name == name) return array;
    throw Error("no array " + name);
}

template <class T>
void set_number(NamedArray& array, std::size_t at, const std::function<T(T)>& change) {
    T value;
    std::memcpy(&value, array.bytes.data() + at * sizeof(T), sizeof(T));
    value = change(value);
    std::memcpy(array.bytes.data() + at * sizeof(T), &value, sizeof(T));
}

// For every expected tensor: changing one number reports exactly that tensor.
TEST_P(Golden, OneChangedNumberFails) {
    const std::string name = GetParam().filename().string();
    const bool npz = GetParam().extension() == ".npz";
    for (const TensorResult& tensor : check_file(GetParam()).tensors)
        for (const double change : {0.01, double(NAN)}) {
            const Changed changed(name, [&](ArrayFile& file) {
                NamedArray& array = array_of(file, tensor.name);
                const std::size_t last = static_cast<std::size_t>(array.count()) - 1;
                const auto moved = [&](double x) { return x + change * std::max(1.0, std::abs(x)); };
                if (npz) set_number<double>(array, last, moved);
                else set_number<float>(array, last, [&](float x) { return static_cast<float>(moved(static_cast<double>(x))); });
            });
            const Report report = check_file(changed.path());
            EXPECT_FALSE(report.ok());
            for (const TensorResult& result : report.tensors) EXPECT_EQ(result.ok, result.name != tensor.name) << result.name;
        }
}

// For every required tensor: removing it gives a message that names file and tensor.
TEST_P(Golden, AMissingTensorIsNamed) {
    const std::string name = GetParam().filename().string();
    const ArrayFile original = GetParam().extension() == ".npz" ? read_npz(GetParam()) : read_safetensors(GetParam());
    for (const NamedArray& array : original.arrays) {
        // Masks and second inputs are optional; without them it is another valid case.
        if (array.name.find("mask") != std::string::npos) continue;
        if (array.name == "in.key_value" || array.name == "w_q" || array.name.ends_with(".w_q")) continue;
        const Changed changed(
            name, [&](ArrayFile& file) { std::erase_if(file.arrays, [&](const NamedArray& each) { return each.name == array.name; }); });
        try {
            check_file(changed.path());
            ADD_FAILURE() << "accepted without " << array.name;
        } catch (const IoError& error) {
            EXPECT_THAT(error.what(), HasSubstr(changed.path().filename().string()));
            EXPECT_TRUE(array.name == "x" || std::string(error.what()).find(array.name) != std::string::npos) << error.what();
        }
    }
}

void expect_refused(const std::string& name, const std::function<void(ArrayFile&)>& change, const std::string& says) {
    const Changed changed(name, change);
    try {
        check_file(changed.path());
        ADD_FAILURE() << "accepted: " << says;
    } catch (const IoError& error) {
        EXPECT_THAT(error.what(), HasSubstr(changed.path().filename().string()));
        EXPECT_THAT(error.what(), HasSubstr(says));
    }
}

TEST(Check, RefusesWrongTypesAndShapes) {
    const std::string sdpa = "sdpa_causal.safetensors", gpt = "gpt2.safetensors", mha = "mha_cross_padding.safetensors";
    const auto reshape = [](const char* name, std::vector<std::int64_t> shape) {
        return [=](ArrayFile& file) { array_of(file, name).shape = shape; };
    };
    expect_refused(sdpa, reshape("in.k", {4, 2, 6, 8}), "in.k");
    expect_refused(sdpa, reshape("in.v", {2, 4, 48}), "in.v");
    expect_refused(sdpa, reshape("in.mask", {36}), "in.mask");
    expect_refused(sdpa, reshape("out.scores", {2, 4, 36, 1}), "out.scores");
    expect_refused(mha, reshape("in.key_value", {1, 12, 32}), "in.key_value");
    expect_refused(mha, reshape("param.in_proj_weight", {32, 96}), "param.in_proj_weight");
    expect_refused(mha, reshape("in.key_padding_mask", {6, 2}), "in.key_padding_mask");
    expect_refused(gpt, reshape("in.targets", {12, 1}), "in.targets");
    expect_refused(
        sdpa, [](ArrayFile& file) { array_of(file, "in.q").dtype = DType::I32; }, "in.q");
    expect_refused(
        sdpa, [](ArrayFile& file) { array_of(file, "in.mask").dtype = DType::U8; }, "in.mask");
    expect_refused(
        gpt, [](ArrayFile& file) { array_of(file, "in.tokens").dtype = DType::F64; }, "in.tokens");
    expect_refused(
        gpt, [](ArrayFile& file) { set_number<std::int64_t>(array_of(file, "in.tokens"), 3, [](auto) { return 23; }); }, "23");
    expect_refused("notebook_multi_head.npz", reshape("head1.w_v", {4, 12}), "head1.w_v");
}

TEST(Check, RefusesWrongMetadata) {
    const std::string sdpa = "sdpa_none.safetensors", layer = "encoder_layer_pre_gelu.safetensors";
    const auto set = [](const char* key, const char* value) { return [=](ArrayFile& file) { file.metadata[key] = value; }; };
    expect_refused(sdpa, set("format", "attnscope-case/2"), "attnscope-case/2");
    expect_refused(sdpa, set("module", "linear"), "linear");
    expect_refused(sdpa, set("config", "{"), "config");
    expect_refused(sdpa, set("config", R"({"mask": "none"})"), "scale");
    expect_refused(sdpa, set("config", R"({"mask": "upside_down", "scale": 1.0})"), "upside_down");
    expect_refused(
        sdpa, [](ArrayFile& file) { file.metadata.erase("module"); }, "module");
    const auto config = [&](const std::string& heads, const std::string& width, const std::string& activation) {
        const std::string text = R"({"d_model": )" + width + R"(, "num_heads": )" + heads + R"(, "d_ff": 64, "activation": ")" +
                                 activation + R"(", "norm_first": true, "gelu": "erf"})";
        return [text](ArrayFile& file) { file.metadata["config"] = text; };
    };
    expect_refused(layer, config("5", "32", "gelu"), "divisible");
    expect_refused(layer, config("4", "16777216", "gelu"), "65536");
    expect_refused(layer, config("4", "4096", "gelu"), "in.src");
    expect_refused(layer, config("4", "32", "swish"), "activation");
    expect_refused(layer, config("-1", "32", "gelu"), "num_heads");
    expect_refused(
        "train_gpt2.safetensors",
        [](ArrayFile& file) {
            std::string& text = file.metadata["config"];
            text.replace(text.find("0.95"), 4, "1.00");
        },
        "betas");
    expect_refused(
        "train_gpt2.safetensors",
        [](ArrayFile& file) {
            std::string& text = file.metadata["config"];
            const std::size_t steps = text.find("30", text.find("\"steps\""));
            text.replace(steps, 2, "31");
        },
        "/steps: is 31, but in.batches has batches for 30 steps");
}

TEST(Check, RefusesAnOutputItCannotRecompute) {
    expect_refused(
        "sdpa_none.safetensors",
        [](ArrayFile& file) {
            NamedArray extra = array_of(file, "out.context");
            extra.name = "out.entropy";
            file.arrays.push_back(extra);
        },
        "out.entropy");
}

TEST(Check, RefusesWhatIsNoCase) {
    EXPECT_THROW(check_file(kGolden / "missing.safetensors"), IoError);
    EXPECT_THROW(check_file(kGolden / "README.md"), IoError);
    expect_refused(
        "notebook_single_head.npz", [](ArrayFile& file) { array_of(file, "x").name = "y"; }, "x");
}

/// An attention whose sizes differ from the golden ones: T, S, D and Dv are all different, and every row but the last may attend to one key
/// only.
TEST(Check, ReadsOtherSizes) {
    const std::int64_t b = 1, h = 3, t = 7, s = 11, d = 5, dv = 4;
    std::vector<float> q(static_cast<std::size_t>(b * h * t * d), 1.F), k(static_cast<std::size_t>(b * h * s * d), 2.F), v;
    for (std::int64_t i = 0; i < b * h * s * dv; ++i) v.push_back(static_cast<float>(i));
    const std::vector<float> scores(static_cast<std::size_t>(b * h * t * s), 10.F), scaled(scores.size(), 5.F);
    std::vector<float> weights(scores.size(), 0.F), context;
    for (std::int64_t row = 0; row < b * h * t; ++row) {
        weights[static_cast<std::size_t>(row * s + row % t)] = 1;
        for (std::int64_t i = 0; i < dv; ++i) context.push_back(v[static_cast<std::size_t>((row / t * s + row % t) * dv + i)]);
    }
    std::vector<std::byte> keep(static_cast<std::size_t>(t * s));
    for (std::int64_t i = 0; i < t; ++i) keep[static_cast<std::size_t>(i * s + i)] = std::byte{1};
    const auto array = [](const char* name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
        return make_array<float>(name, std::move(shape), values);
    };
    const fs::path path = fs::temp_directory_path() / ("attnscope_check_sizes_" + std::to_string(::getpid()) + ".safetensors");
    ArrayFile file;
    file.metadata = {{"format", "attnscope-case/1"}, {"module", "sdpa"}, {"config", R"({"scale": 0.5, "mask": "bool_keep"})"}};
    file.arrays = {array("in.q", {b, h, t, d}, q),
                   array("in.k", {b, h, s, d}, k),
                   array("in.v", {b, h, s, dv}, v),
                   array("out.scores", {b, h, t, s}, scores),
                   array("out.scaled", {b, h, t, s}, scaled),
                   array("out.weights", {b, h, t, s}, weights),
                   array("out.context", {b, h, t, dv}, context),
                   NamedArray{"in.mask", DType::Bool, {t, s}, keep}};
    write_safetensors(path, file);
    const Report report = check_file(path);
    fs::remove(path);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.tensors.size(), 4U);
}

void erase(ArrayFile& file, const std::function<bool(const std::string&)>& which) {
    std::erase_if(file.arrays, [&](const NamedArray& array) { return which(array.name); });
}

TEST(Check, AcceptsAFileWithoutAnyGradient) {
    for (const char* name : {"sdpa_none.safetensors", "mha_self.safetensors", "encoder_layer_pre_gelu.safetensors", "gpt2.safetensors"}) {
        const Changed forward_only(
            name, [](ArrayFile& file) { erase(file, [](const std::string& tensor) { return tensor.starts_with("grad."); }); });
        EXPECT_TRUE(check_file(forward_only.path()).ok()) << name;
    }
}

TEST(Check, LosesNoGradientInSilence) {
    for (const char* name : {"sdpa_none.safetensors", "mha_self.safetensors", "transformer_pre.safetensors", "gpt2.safetensors"}) {
        const ArrayFile original = read_safetensors(kGolden / name);
        for (const NamedArray& array : original.arrays) {
            if (!array.name.starts_with("grad.")) continue;
            expect_refused(
                name, [&](ArrayFile& file) { erase(file, [&](const std::string& each) { return each == array.name; }); }, array.name);
        }
        expect_refused(
            name, [](ArrayFile& file) { file.arrays.push_back(make_array<float>("grad.param.other", {1}, std::vector<float>{0})); },
            "grad.param.other");
    }
    expect_refused(
        "sdpa_none.safetensors", [](ArrayFile& file) { erase(file, [](const std::string& each) { return each == "in.grad_out"; }); },
        "in.grad_out");
}

}  // namespace
}  // namespace attn::check
