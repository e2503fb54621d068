"""An ONNX file as frozen data: the reader and the writer, the only places that know protobuf."""
