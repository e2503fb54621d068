"""Models as frameworks export them, for `benchmarks.fix_exports`: `python benchmarks/real_models.py FOLDER`.

Needs what exports them, which nothing else does:
    python -m venv exporters
    exporters/bin/pip install torch==2.13.0 onnxscript==0.7.2 skl2onnx==1.20.0 keras==3.15.1 transformers==5.24.0
    exporters/bin/pip install --no-deps torchvision==0.28.0 timm==1.0.31 rapidocr_onnxruntime==1.4.4
    exporters/bin/pip install onnxruntime==1.32.0 safetensors pyyaml pillow
    exporters/bin/python benchmarks/real_models.py FOLDER

All weights are random: nothing is downloaded.  A model that an exporter refuses is named on the standard error stream.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import onnx
import torch
from torch import nn

TORCHVISION = (
    "alexnet", "vgg11", "resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5",
    "efficientnet_b0", "regnet_y_400mf", "mnasnet0_5", "densenet121", "googlenet", "convnext_tiny",
)  # fmt: skip
TIMM = (
    "lcnet_035", "ghostnet_050", "mobilenetv3_small_050", "efficientnet_lite0", "edgenext_xx_small", "fastvit_t8",
    "resnet10t", "mobilevit_xxs", "tinynet_e", "hardcorenas_a", "vit_tiny_patch16_224", "mixer_s32_224",
)  # fmt: skip
SIZE = 64
"""Rows and columns of the images, but for models that take 224 only."""


class Sequence(nn.Module):
    """The outputs of a recurrent layer at the last step, and a linear layer."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell, self.out = cell, nn.Linear(8, 3)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        """Three numbers."""
        return self.out(self.cell(steps)[0][:, -1])


class Attention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """As many tokens."""
        return self.attention(tokens, tokens, tokens, need_weights=False)[0]


class UNet(nn.Module):
    """Down by pooling, up by a mode, with a short-cut."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.down, self.inner, self.out = (
            nn.Conv2d(1, 4, 3, padding=1),
            nn.Conv2d(4, 4, 3, padding=1),
            nn.Conv2d(8, 2, 1),
        )
        self.up = (
            nn.ConvTranspose2d(4, 4, 2, stride=2) if mode == "transposed" else nn.Upsample(scale_factor=2, mode=mode)
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Two scores for each pixel."""
        first = torch.relu(self.down(image))
        second = self.up(torch.relu(self.inner(nn.functional.max_pool2d(first, 2))))
        return self.out(torch.cat([first, second], 1))


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The value."""
        return self.function(x)


def image(channels: int = 3, size: int = SIZE) -> torch.Tensor:
    """A random image."""
    return torch.randn(1, channels, size, size)


def small() -> Iterator[tuple[str, Callable[[], tuple[nn.Module, torch.Tensor]]]]:
    """Small networks of PyTorch."""
    conv = lambda *more: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), *more)  # noqa: E731
    for name in (
        "ReLU",
        "LeakyReLU",
        "ELU",
        "SELU",
        "GELU",
        "SiLU",
        "Mish",
        "Hardswish",
        "Hardsigmoid",
        "Softplus",
        "PReLU",
    ):
        yield f"cnn_{name.lower()}", lambda name=name: (conv(nn.BatchNorm2d(4), getattr(nn, name)()), image(1, 8))
    for name, pool in {
        "average": nn.AvgPool2d(2), "maximum_ceil": nn.MaxPool2d(3, 2, ceil_mode=True),
        "adaptive": nn.AdaptiveAvgPool2d(1), "average_three": nn.AvgPool2d(3, 1, 1),
    }.items():  # fmt: skip
        yield f"pool_{name}", lambda pool=pool: (conv(pool), image(1, 8))
    for name, norm in {"instance": nn.InstanceNorm2d(4, affine=True), "group": nn.GroupNorm(2, 4)}.items():
        yield f"norm_{name}", lambda norm=norm: (conv(norm, nn.ReLU()), image(1, 8))
    for mode in ("nearest", "bilinear", "transposed"):
        yield f"unet_{mode}", lambda mode=mode: (UNet(mode), image(1, 8))
    for cell in (nn.LSTM, nn.GRU, nn.RNN):
        yield f"sequence_{cell.__name__.lower()}", lambda cell=cell: (
            Sequence(cell(4, 8, batch_first=True)), torch.randn(1, 5, 4))  # fmt: skip
    yield "attention", lambda: (Attention(), torch.randn(1, 6, 16))
    yield "encoder_layer", lambda: (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), torch.randn(1, 6, 16))
    yield (
        "conv_one_axis",
        lambda: (nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU(), nn.MaxPool1d(2)), torch.randn(1, 2, 16)),
    )
    yield "conv_three_axes", lambda: (nn.Sequential(nn.Conv3d(1, 2, 3), nn.ReLU()), torch.randn(1, 1, 5, 6, 6))
    yield (
        "mlp",
        lambda: (nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2), nn.Softmax(1)), torch.randn(1, 6)),
    )
    yield "pixel_shuffle", lambda: (nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.PixelShuffle(2)), image(1, 8))
    yield "normalized", lambda: (Function(nn.functional.normalize), torch.randn(2, 8))
    yield (
        "standardized",
        lambda: (Function(lambda x: (x - x.mean(1, True)) / x.std(1, keepdim=True)), torch.randn(2, 8)),
    )
    yield "log_softmax", lambda: (nn.Sequential(nn.Linear(6, 4), nn.LogSoftmax(1)), torch.randn(1, 6))
    yield "best_index", lambda: (Function(lambda x: x.argmax(1)), torch.randn(2, 8))
    yield "best_three", lambda: (Function(lambda x: x.topk(3, 1)[0]), torch.randn(2, 8))


def zoo() -> Iterator[tuple[str, Callable[[], tuple[nn.Module, torch.Tensor]]]]:
    """Networks of torchvision and timm."""
    register = torch.library.register_fake
    torch.library.register_fake = lambda *names, **options: lambda function: function  # its kernels are not installed
    import timm
    from torchvision import models

    torch.library.register_fake = register
    for name in TORCHVISION:
        more = {"init_weights": False} if name == "googlenet" else {}
        yield f"torchvision_{name}", lambda name=name, more=more: (getattr(models, name)(weights=None, **more), image())
    for name in TIMM:
        yield f"timm_{name}", lambda name=name: (
            timm.create_model(name, pretrained=False), image(size=224 if name.endswith("224") else SIZE))  # fmt: skip


class Hidden(nn.Module):
    """The last hidden state of a model of transformers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """A vector for each token."""
        return self.model(inputs_embeds=tokens)[0]


def texts() -> Iterator[tuple[str, Callable[[], tuple[nn.Module, torch.Tensor]]]]:
    """Small configurations of transformers."""
    import transformers

    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "vocab_size": 50,
    }
    for name in ("Bert", "Electra", "Roberta"):
        config = getattr(transformers, f"{name}Config")(**sizes, attn_implementation="eager")
        model = getattr(transformers, f"{name}Model")
        yield f"transformers_{name.lower()}", lambda model=model, config=config: (
            Hidden(model(config)), torch.randn(1, 6, 16 if name != "Electra" else 128))  # fmt: skip


def estimators(folder: Path) -> None:
    """Estimators of scikit-learn."""
    from skl2onnx import to_onnx
    from sklearn import (
        datasets,
        decomposition,
        discriminant_analysis,
        linear_model,
        neural_network,
        pipeline,
        preprocessing,
        svm,
        tree,
    )

    data = datasets.load_iris()
    samples, targets = data.data.astype(numpy.float32), data.target
    listed = {
        "linear": linear_model.LinearRegression(), "ridge": linear_model.Ridge(), "pca": decomposition.PCA(2),
        "logistic": linear_model.LogisticRegression(max_iter=500),
        "discriminant": discriminant_analysis.LinearDiscriminantAnalysis(),
        "scaled_perceptron": pipeline.make_pipeline(
            preprocessing.StandardScaler(), neural_network.MLPRegressor(hidden_layer_sizes=(8,), random_state=0, max_iter=200)),
        "perceptron_classifier": neural_network.MLPClassifier(hidden_layer_sizes=(8,), random_state=0, max_iter=200),
        "polynomial": pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.LinearRegression()),
        "tree": tree.DecisionTreeRegressor(max_depth=3), "svm_linear": svm.SVR(kernel="linear"),
    }  # fmt: skip
    for name, estimator in listed.items():
        options = {"zipmap": False} if hasattr(estimator, "classes_") or "predict_proba" in dir(estimator) else None
        attempt(f"sklearn_{name}", lambda estimator=estimator, options=options, name=name: onnx.save(
            to_onnx(estimator.fit(samples, targets), samples[:1], options=options, target_opset=17),
            folder / f"sklearn_{name}.onnx"))  # fmt: skip


def packaged(folder: Path) -> None:
    """Models inside a package."""
    package = importlib.util.find_spec("rapidocr_onnxruntime")
    for path in Path(package.origin or "").parent.rglob("*.onnx") if package else ():
        shutil.copy(path, folder / f"rapidocr_{path.stem[:20]}.onnx")


def quantized(folder: Path) -> None:
    """Networks quantized by onnxruntime, in both forms, and with scales that are computed."""
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_dynamic,
        quantize_static,
    )

    class Samples(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.images = iter(numpy.random.default_rng(0).standard_normal((4, 1, 1, 8, 8)).astype(numpy.float32))

        def get_next(self) -> Any:
            found = next(self.images, None)
            return None if found is None else {"x": found}

    source = folder / "cnn_relu.onnx"
    for form in (QuantFormat.QDQ, QuantFormat.QOperator):
        for per_channel in (False, True):
            target = folder / f"quantized_{form.name.lower()}{'_channels' if per_channel else ''}.onnx"
            attempt(target.stem, lambda form=form, target=target, per_channel=per_channel: quantize_static(
                source, target, Samples(), quant_format=form, per_channel=per_channel,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8))  # fmt: skip
    attempt("quantized_dynamic", lambda: quantize_dynamic(folder / "mlp.onnx", folder / "quantized_dynamic.onnx"))


def keras_models(folder: Path) -> None:
    """Networks of Keras."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    listed = {
        "mlp": [layers.Input((6,)), layers.Dense(16, "relu"), layers.Dense(3, "softmax")],
        "cnn": [layers.Input((16, 16, 1)), layers.Conv2D(4, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(2), layers.Flatten(), layers.Dense(4, "softmax")],
        "separable": [layers.Input((16, 16, 2)), layers.SeparableConv2D(4, 3, activation="relu"),
                      layers.GlobalAveragePooling2D()],
        "lstm": [layers.Input((5, 4)), layers.LSTM(6), layers.Dense(2)],
    }  # fmt: skip

    def export(name: str) -> None:
        model = keras.Sequential(listed[name])
        model(numpy.zeros((1, *model.input_shape[1:]), numpy.float32))
        model.export(folder / f"keras_{name}.onnx", format="onnx")

    for name in listed:
        attempt(f"keras_{name}", lambda name=name: export(name))


def attempt(name: str, make: Callable[[], object]) -> None:
    """Make a model, or say that its exporter does not."""
    try:
        make()
    except Exception as reason:  # noqa: BLE001  exporters raise what they like
        print(f"{name}: {type(reason).__name__}: {str(reason)[:100]}", file=sys.stderr)


def main() -> None:
    """All models."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)

    def export(name: str, made: Callable[[], tuple[nn.Module, torch.Tensor]], *, dynamo: bool) -> None:
        torch.manual_seed(0)
        module, sample = made()
        target = folder / f"{name}{'_dynamo' if dynamo else ''}.onnx"
        more = {"external_data": False} if dynamo else {"opset_version": 17}
        torch.onnx.export(module.eval(), (sample,), target, dynamo=dynamo, input_names=["x"], **more)

    for index, (name, made) in enumerate([*small(), *zoo(), *texts()]):
        attempt(name, lambda name=name, made=made: export(name, made, dynamo=False))
        if index % 6 == 0:
            attempt(name, lambda name=name, made=made: export(name, made, dynamo=True))
    estimators(folder)
    packaged(folder)
    quantized(folder)
    keras_models(folder)


if __name__ == "__main__":
    main()
