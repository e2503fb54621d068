"""What a file says beside its graphs, as frozen data: configurations of devices, annotations, bindings of training.

Nothing here changes a value of an inference.  A number or name that is absent from the file is None.
"""

from __future__ import annotations

from msgspec import Struct

Pairs = tuple[tuple[str, str], ...]
"""The entries of a list of key-value pairs, in the order of the file."""


class DeviceConfiguration(Struct, frozen=True):
    """A device configuration of a model (onnx.proto, DeviceConfigurationProto)."""

    name: str | None
    devices: int | None
    """The number of devices."""
    names: tuple[str, ...]
    """The names of the devices."""


class ShardedAxis(Struct, frozen=True):
    """How one axis of a tensor is divided (onnx.proto, ShardedDimProto): `shards` has a number for each part."""

    axis: int | None
    shards: tuple[int | None, ...]


class Sharding(Struct, frozen=True):
    """How a tensor of a node is distributed (onnx.proto, ShardingSpecProto)."""

    tensor: str | None
    axes: tuple[ShardedAxis, ...]
    groups: tuple[int, ...] = ()
    """The keys of index_to_device_group_map."""


class NodeConfiguration(Struct, frozen=True):
    """How a node is distributed in one configuration (onnx.proto, NodeDeviceConfigurationProto)."""

    configuration: str | None
    shardings: tuple[Sharding, ...]


class QuantizationAnnotation(Struct, frozen=True):
    """The names of the quantization parameters of a tensor (onnx.proto, TensorAnnotation)."""

    tensor: str
    parameters: Pairs


class TrainingBindings(Struct, frozen=True):
    """What one entry of training_info assigns: each key is a variable, each value an output of a graph."""

    initialization: Pairs
    update: Pairs
