"""The recipe of the models in this folder: exports of several frameworks, as their users make them.

Needs torch, onnxscript, keras, scikit-learn, skl2onnx, onnxmltools, onnxruntime and lightgbm:
    python -m venv exporters
    exporters/bin/pip install torch==2.13.0 onnxscript==0.7.2 skl2onnx==1.20.0 onnxmltools==1.16.0 lightgbm==4.7.0
    exporters/bin/pip install keras==3.15.1 onnxruntime==1.32.0
    exporters/bin/python tests/models/frameworks/make.py [NAME ...]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import onnx
import torch
from onnxscript import FLOAT, script
from onnxscript import opset18 as op
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

HERE = Path(__file__).parent
IRIS = load_iris()
X, Y = IRIS.data.astype(numpy.float32), IRIS.target


def save(name: str, model: Any) -> None:
    """Write a model without the texts of the exporter about its own sources."""
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.save(model, HERE / f"{name}.onnx")


class Residual(nn.Module):
    """Two convolutions with normalisation and a short-cut, the mean of each channel, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6))
        self.classifier = nn.Linear(6, 4)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Scores of four classes."""
        hidden = self.first(image)
        hidden = torch.relu(self.second(hidden) + hidden)
        return self.classifier(nn.functional.adaptive_avg_pool2d(hidden, 1).flatten(1))


class Decoder(nn.Module):
    """An upsampling convolution, as of a segmentation network."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GELU(), nn.ConvTranspose2d(4, 2, 2, stride=2))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Shares of two classes for each pixel."""
        return torch.softmax(self.layers(image), 1)


class VisionTransformer(nn.Module):
    """Patches of an image, a token for the class, two layers of attention, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm, self.head = nn.Conv2d(3, 16, 4, stride=4), nn.LayerNorm(16), nn.Linear(16, 4)
        self.token, self.places = nn.Parameter(torch.zeros(1, 1, 16)), nn.Parameter(torch.randn(1, 17, 16) / 50)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Scores of four classes."""
        tokens = self.patches(image).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(image.shape[0], -1, -1), tokens], 1) + self.places
        return self.head(self.norm(self.encoder(tokens))[:, 0])


class Classifier(nn.Module):
    """Two convolutions, the mean of each channel, and scores of ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.scores = nn.Linear(8, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Scores of ten classes."""
        return self.scores(nn.functional.adaptive_avg_pool2d(self.second(self.first(image)), 1).flatten(1))


class Controller(nn.Module):
    """A recurrent controller with a bounded output."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.GRU(4, 5, batch_first=True), nn.Linear(5, 1)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """A command between -1 and 1."""
        return torch.tanh(self.out(self.cell(states)[0][:, -1]))


def exported(name: str, module: nn.Module, sample: torch.Tensor, **options: Any) -> None:
    """An export of PyTorch."""
    torch.manual_seed(1)
    target = HERE / f"{name}.onnx"
    torch.onnx.export(module.eval(), (sample,), target, external_data=False, **options)
    save(name, onnx.load(target))


def keras_cnn() -> Any:
    """A classifier of Keras, exported by its own method."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    model = keras.Sequential([
        layers.Input((16, 16, 1)), layers.Conv2D(4, 3, padding="same", activation="relu"), layers.BatchNormalization(),
        layers.MaxPooling2D(2), layers.Conv2D(8, 3, activation="relu"), layers.GlobalAveragePooling2D(),
        layers.Dense(4, activation="softmax"),
    ])  # fmt: skip
    model(numpy.zeros((1, 16, 16, 1), numpy.float32))
    with tempfile.TemporaryDirectory() as folder:
        model.export(f"{folder}/model.onnx", format="onnx")
        return onnx.load(f"{folder}/model.onnx")


def quantized_cnn() -> Any:
    """A classifier of PyTorch with weights and activations of eight bits, by onnxruntime."""
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    class Samples(CalibrationDataReader):  # type: ignore[misc]
        """Random images."""

        def __init__(self) -> None:
            draw = numpy.random.default_rng(0)
            self.images: Iterator[Any] = iter(draw.standard_normal((8, 1, 1, 16, 16)).astype(numpy.float32))

        def get_next(self) -> Any:
            """The next image, None after the last one."""
            image = next(self.images, None)
            return None if image is None else {"image": image}

    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        before, after = f"{folder}/before.onnx", f"{folder}/after.onnx"
        sample = (torch.zeros(1, 1, 16, 16),)
        torch.onnx.export(Classifier().eval(), sample, before, dynamo=False, input_names=["image"])
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
        quantize_static(before, after, Samples(), **kinds)
        return onnx.load(after)


@script(default_opset=op)
def envelope(speed: FLOAT[1, 3], limit: FLOAT[3]) -> FLOAT[1, 3]:
    """A clipped ramp, written by hand."""
    scaled = speed / limit
    return op.Clip(scaled * scaled - 1.0, op.Constant(value_float=-1.0), op.Constant(value_float=1.0))


BY_NAME: dict[str, Callable[[], Any]] = {"keras_cnn": keras_cnn, "quantized_cnn": quantized_cnn}
"""Models that are made apart from the others."""


def main() -> None:
    """All models, or those named of `BY_NAME` and the vision transformer."""
    if not sys.argv[1:] or "torch_vit" in sys.argv:
        torch.manual_seed(0)
        exported("torch_vit", VisionTransformer(), torch.zeros(1, 3, 16, 16), dynamo=False, opset_version=18)
    for name, made in BY_NAME.items():
        if not sys.argv[1:] or name in sys.argv:
            save(name, made())
    if not sys.argv[1:]:
        others()


def others() -> None:
    """All other models."""
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType
    from skl2onnx import to_onnx

    torch.manual_seed(0)
    exported("torch_residual", Residual(), torch.zeros(1, 3, 8, 8), dynamo=True)
    exported("torch_residual_torchscript", Residual(), torch.zeros(1, 3, 8, 8), dynamo=False)
    exported("torch_decoder", Decoder(), torch.zeros(1, 1, 6, 6), dynamo=True)
    exported("torch_controller", Controller(), torch.zeros(1, 3, 4), dynamo=True)
    save("onnxscript_envelope", envelope.to_model_proto())
    save("sklearn_linear", to_onnx(LinearRegression().fit(X, Y), X[:1]))
    perceptron = make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(8,), random_state=0, max_iter=200)
    ).fit(X, Y)
    save("sklearn_perceptron", to_onnx(perceptron, X[:1]))
    save("sklearn_pca", to_onnx(PCA(2).fit(X), X[:1]))
    classifier = LogisticRegression(max_iter=500).fit(X, Y)
    save("sklearn_logistic", to_onnx(classifier, X[:1], options={"zipmap": False}))
    save("sklearn_forest", to_onnx(RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, Y), X[:1]))
    import lightgbm

    trees = lightgbm.LGBMRegressor(n_estimators=3, max_depth=3, verbose=-1).fit(X, Y)
    save("lightgbm_trees", convert_lightgbm(trees, initial_types=[("x", FloatTensorType([None, 4]))]))


if __name__ == "__main__":
    main()
