# SPDX-License-Identifier: MIT
"""The object of a .bin file of torch.save, made without running any code of the file."""

import collections
import pickle
import types

from .errors import check, shown
from .json_values import is_size

STORAGES = {"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
            "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL"}
MAX_PICKLE = 8 << 20  # bytes; a tensor takes some 200, but a hostile byte may stand for an object of 64
# The opcodes of torch.save, protocols 2 to 4. Only SETITEM and SETITEMS hash values of the pickle.
INSTRUCTIONS = [getattr(pickle, name) for name in (
    "PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE GLOBAL STACK_GLOBAL "
    "BINPERSID EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS REDUCE BUILD BINPUT LONG_BINPUT "
    "BINGET LONG_BINGET MEMOIZE").split()]
Later = collections.namedtuple("Later", "storage offset shape stride")  # a tensor whose storage may not be read yet


def unpickle(stream, path, storage):
    """An object of torch.save, made without running any code of the file; `storage` is called with type, key and number of elements."""

    def rebuild_tensor(*arguments):
        found, offset, shape, stride = arguments[:4]
        check(len(shape) == len(stride) <= 8 and all(map(is_size, (offset, *shape, *stride))), path, "a tensor of it is damaged")
        return Later(found, offset, tuple(shape), tuple(stride))

    allowed = {("collections", "OrderedDict"): lambda: collections.OrderedDict(),  # no constructor arguments
               ("torch._utils", "_rebuild_tensor"): rebuild_tensor, ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor,
               ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
               ("torch.nn.parameter", "Parameter"): lambda tensor, *_: tensor}
    allowed.update({("torch", name): dtype for name, dtype in STORAGES.items()})

    class Unpickler(pickle._Unpickler):  # the pure-Python version, whose opcodes can be restricted
        def find_class(self, module, name):
            check((module, name) in allowed, path, "the pickle asks for %s, which no weights need; it is not loaded" % shown(module + "." + name))
            return allowed[module, name]

        def persistent_load(self, pid):
            _, dtype, key, _, count, *view = pid
            check(isinstance(dtype, str) and isinstance(key, str) and is_size(count), path, "a storage of it is damaged")
            check(view in ([], [None]), path, "a storage is a part of another one, as PyTorch before 0.4 wrote it; save it with a newer one")
            return storage(dtype, key, count)

        # Keys must be strings: hashing nested, shared tuples takes exponential time.
        def load_setitem(self):
            check(isinstance(self.stack[-2], str), path, "a key of a dictionary is no text")
            super().load_setitem()

        def load_setitems(self):
            check(all(isinstance(key, str) for key in self.stack[::2]), path, "a key of a dictionary is no text")
            super().load_setitems()

        dispatch = {code[0]: pickle._Unpickler.dispatch[code[0]] for code in INSTRUCTIONS}
        dispatch[pickle.SETITEM[0]], dispatch[pickle.SETITEMS[0]] = load_setitem, load_setitems

    begin = stream.tell()

    def read(size):
        check(stream.tell() + size <= begin + MAX_PICKLE, path, "its pickle has more than the %d bytes that are read of one" % MAX_PICKLE)
        return stream.read(size)

    return Unpickler(types.SimpleNamespace(read=read, readline=stream.readline)).load()
