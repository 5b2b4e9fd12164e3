#!/usr/bin/env python3
"""Packs the VS Code extension: tools/vscode/package.py [FILE]; default: qrewrite-VERSION.vsix here.

A .vsix is a zip of the Open Packaging Conventions: the types of its parts, a manifest, and the extension's files in a
folder of their own. The bytes depend on the files alone.
"""
import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).resolve().parent
FILES = ["package.json", "README.md", "extension.js", "rpc.js", "language.json", "syntaxes/qrewrite.tmLanguage.json"]
LICENSE = HERE.parent.parent / "LICENSE"
TYPES = {".json": "application/json", ".js": "application/javascript", ".md": "text/markdown",
         ".txt": "text/plain", ".vsixmanifest": "text/xml"}


def manifest(package):
    identity = " ".join(f"{name}={quoteattr(value)}" for name, value in (
        ("Language", "en-US"), ("Id", package["name"]), ("Version", package["version"]), ("Publisher", package["publisher"])))
    properties = "".join(f'\n      <Property Id={quoteattr("Microsoft.VisualStudio.Code." + name)} Value={quoteattr(value)}/>'
                         for name, value in (("Engine", package["engines"]["vscode"]), ("ExtensionDependencies", ""),
                                             ("ExtensionPack", ""), ("ExtensionKind", "workspace"), ("LocalizedLanguages", "")))
    assets = "".join(f'\n    <Asset Type={quoteattr("Microsoft.VisualStudio." + kind)} Path="extension/{path}" Addressable="true"/>'
                     for kind, path in (("Code.Manifest", "package.json"), ("Services.Content.Details", "README.md"),
                                        ("Services.Content.License", "LICENSE.txt")))
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011" xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">
  <Metadata>
    <Identity {identity}/>
    <DisplayName>{escape(package["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(package["description"])}</Description>
    <Tags>onnx,qrewrite</Tags>
    <Categories>{escape(",".join(package["categories"]))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>{properties}
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>{assets}
  </Assets>
</PackageManifest>
"""


def content_types():
    rows = "".join(f'<Default Extension="{ending}" ContentType="{kind}"/>' for ending, kind in TYPES.items())
    return ('<?xml version="1.0" encoding="utf-8"?>\n'
            f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{rows}</Types>\n')


def pack(path):
    package = json.loads((HERE / "package.json").read_text())
    parts = {"extension.vsixmanifest": manifest(package), "[Content_Types].xml": content_types()}
    parts |= {"extension/" + name: (HERE / name).read_text() for name in FILES}
    parts["extension/LICENSE.txt"] = LICENSE.read_text()
    path = Path(path or f"qrewrite-{package['version']}.vsix")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return path


if __name__ == "__main__":
    print(pack(sys.argv[1] if len(sys.argv) > 1 else None))
