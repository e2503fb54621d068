"""The recipe of the models in this folder, exported from PyTorch; tests/checker/test_models.py pins their verdicts.

Needs torch 2.13.0 and onnxscript 0.7.2, which nothing else does:
    python -m venv torch && torch/bin/pip install torch==2.13.0 onnx==1.23.2 onnxscript==0.7.2
    torch/bin/python tests/models/make.py
"""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from torch import nn

HERE = Path(__file__).parent


class Images(nn.Module):
    """Two convolutions with normalisation and pooling, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.ReLU(),
        )  # fmt: skip
        self.classifier = nn.Linear(8 * 4 * 4, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Shares of ten classes."""
        return torch.softmax(self.classifier(torch.flatten(self.features(image), 1)), dim=1)


class Sequences(nn.Module):
    """A recurrent layer over ten steps, and a number for the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(6, 8)
        self.last = nn.Linear(8, 1)

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        """One number for each sequence."""
        states, _ = self.recurrent(steps)
        return self.last(states[-1])


class Attention(nn.Module):
    """One block of a transformer: attention with two heads, normalisation, two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The tokens after the block."""
        return self.block(tokens)


MODELS = {
    "cnn": (Images, torch.zeros(1, 1, 16, 16)),
    "lstm": (Sequences, torch.zeros(10, 1, 6)),
    "transformer": (Attention, torch.zeros(1, 5, 16)),
}


def clean(path: Path) -> None:
    """Without the traces of the exporter, which name files of the machine it ran on."""
    model = onnx.load(path)
    values = [*model.graph.input, *model.graph.output, *model.graph.value_info, *model.graph.initializer]
    for part in (model, model.graph, *model.graph.node, *values):
        del part.metadata_props[:]
        part.ClearField("doc_string")
    path.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    for name, (made, example) in MODELS.items():
        torch.manual_seed(0)
        model = made().eval()
        for kind, new in (("", True), ("_torchscript", False)):
            path = HERE / f"{name}{kind}.onnx"
            torch.onnx.export(model, (example,), path, dynamo=new, opset_version=18, external_data=False)
            clean(path)
